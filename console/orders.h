// Orders that people give through the console: off, on and observe, for nodes, a pool or the cluster. They go through
// operate/, as the commands do, with the rights of the person.
//
// The state marks and the ConfigMap `tidemark-off` hold everything that matters. If the console stops in the middle of
// an eviction, the same order from any console or terminal continues it.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "console/order_documents.h"
#include "console/order_request.h"
#include "console/view.h"
#include "kube/client.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace tidemark::console {

struct Person {
  std::string name;                      // author of the orders
  std::shared_ptr<kube::Client> writer;  // with the rights of the person
};

class Orders {
 public:
  static constexpr std::size_t kKept = 100;  // finished ones are dropped, the oldest first
  static constexpr std::size_t kRunningMax = 16;
  static constexpr base::Duration kAnswerWait = std::chrono::seconds(5);

  Orders(net::EventLoop& loop, const base::Log& log, View& view, base::Registry& metrics, base::Random random,
         ViewOptions settings);

  // Answers 200 with a preview to a dry run. Otherwise 202 with the order when all nodes are written, or after
  // kAnswerWait; an order that failed as a whole is answered with its error. The same `Idempotency-Key` of the same
  // person is the same order.
  net::Task<void> post(net::HttpExchange& exchange, Person person);
  void list(net::HttpExchange& exchange) const;
  void one(net::HttpExchange& exchange, std::string_view id) const;

 private:
  struct Given;
  net::Task<void> preview(net::HttpExchange& exchange, OrderRequest request, Person person);
  net::Task<void> carry_out(std::shared_ptr<Given> given);
  net::Task<void> answer(net::HttpExchange& exchange, std::shared_ptr<Given> given);
  std::shared_ptr<Given> take(OrderRequest request, Person person, std::string key, std::string body);
  const Given* evicting(std::string_view scope) const;
  std::size_t running() const;

  net::EventLoop& loop_;
  base::Log log_;
  View& view_;
  base::Random random_;
  ViewOptions settings_;
  base::Counter& given_;
  std::deque<std::shared_ptr<Given>> all_;  // the latest first
  net::Scope scope_;
};

}  // namespace tidemark::console
