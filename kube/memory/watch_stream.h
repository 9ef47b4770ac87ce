// A watch as an HTTP answer: the state at its start, changes as they are committed, bookmarks, and its end.
#pragma once

#include "kube/memory/kinds.h"
#include "kube/memory/lists.h"
#include "kube/memory/output.h"
#include "kube/memory/request.h"
#include "net/http_server.h"

namespace tidemark::kube::memory {

struct WatchQuestion {
  ListRequest request;
  const ResourcePath& path;
  KindPtr kind;
  OutputForm form;
};

// `lists` has the budget that the state at the start is taken from, while it is sent.
net::Task<void> answer_watch(net::HttpExchange& exchange, net::EventLoop& loop, Store& store, Lists& lists,
                             const ServerConfig& config, WatchQuestion question);

}  // namespace tidemark::kube::memory
