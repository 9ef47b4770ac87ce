// Requests that change one object: the body, the verb, the wait for the log, the answer.
#pragma once

#include "kube/memory/bodies.h"
#include "kube/memory/output.h"
#include "kube/memory/registry.h"
#include "kube/memory/request.h"
#include "kube/memory/store.h"
#include "net/http_server.h"

namespace tidemark::kube::memory {

class Writes {
 public:
  // All of them outlive it.
  Writes(net::EventLoop& loop, Store& store, Registry& registry, Bodies& bodies)
      : loop_(loop), store_(store), registry_(registry), bodies_(bodies) {}

  net::Task<void> answer(net::HttpExchange& exchange, const net::Target& target, const ResourcePath& path,
                         KindPtr kind);
  // "May I?"
  net::Task<void> answer_review(net::HttpExchange& exchange);
  // What was written, or read.
  void answer_object(net::HttpExchange& exchange, const ResourcePath& path, const Kind& kind, const Written& written,
                     std::string_view method, const OutputForm& form);

 private:
  Answer<Written> write(std::string_view method, const net::Target& target, const ResourcePath& path,
                        const KindPtr& kind, std::string_view content_type, const std::string& body);
  Answer<Written> write_patch(const net::Target& target, const ResourcePath& path, const KindPtr& kind,
                              std::string_view content_type, const std::string& body);

  net::EventLoop& loop_;
  Store& store_;
  Registry& registry_;
  Bodies& bodies_;
};

}  // namespace tidemark::kube::memory
