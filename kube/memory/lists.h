// Lists, and the deletion of all that a list names: consistent over any number of objects, sent in pieces, and never at
// the cost of those who ask meanwhile.
//
//   find the page → take its share of the budget (or wait without it, or 429) → turn by turn: text, piece, next
#pragma once

#include "base/clock.h"
#include "kube/memory/answer_budget.h"
#include "kube/memory/bodies.h"
#include "kube/memory/output.h"
#include "kube/memory/registry.h"
#include "kube/memory/request.h"
#include "kube/memory/store.h"
#include "net/http_server.h"

namespace tidemark::kube::memory {

struct ServerConfig;

class Lists {
 public:
  // All of them outlive it.
  Lists(net::EventLoop& loop, Store& store, Registry& registry, const ServerConfig& config, Bodies& bodies);

  net::Task<void> answer(net::HttpExchange& exchange, const ResourcePath& path, KindPtr kind, ListRequest request,
                         OutputForm form);
  net::Task<void> delete_all(net::HttpExchange& exchange, const net::Target& target, const ResourcePath& path,
                             KindPtr kind);
  // Room for objects that an answer will hold; 429 where there is none.
  net::Task<Answer<AnswerBudget::Share>> room(std::size_t bytes);
  AnswerBudget& budget() { return budget_; }

 private:
  struct Admitted {
    Store::Page page;
    AnswerBudget::Share share;
  };
  Answer<Store::Page> page_of(const Kind& kind, const ListRequest& request) const;
  net::Task<Answer<Admitted>> admit(const Kind& kind, const ListRequest& request);
  net::Task<void> send(net::HttpExchange& exchange, const ResourcePath& path, KindPtr kind, Admitted admitted,
                       OutputForm form, Filter filter);
  net::Task<Answer<void>> remove(KindPtr kind, const Store::Page& page, const DeleteRequest& options);

  net::EventLoop& loop_;
  Store& store_;
  Registry& registry_;
  const ServerConfig& config_;
  Bodies& bodies_;
  AnswerBudget budget_;
};

// What holding these objects may cost while they are sent: their bytes, should all of them be replaced meanwhile.
std::size_t held_bytes(const std::vector<ObjectPtr>& objects);

}  // namespace tidemark::kube::memory
