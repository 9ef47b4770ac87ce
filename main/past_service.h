// Flag and wiring of a process's records for the console (journal/past_server.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/flags.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "journal/past_server.h"
#include "kube/access_review.h"
#include "main/cluster.h"
#include "net/loop.h"

namespace tidemark::main {

void declare_past_flag(base::Flags& flags, std::string& address);

class PastService {
 public:
  // Null without an address. `cluster` outlives it.
  static Result<std::unique_ptr<PastService>> make(net::EventLoop& loop, const base::Log& log, const Cluster& cluster,
                                                   base::Random random, const std::string& address,
                                                   std::string_view user_agent, journal::PastAnswers answers);

 private:
  PastService(net::EventLoop& loop, const Cluster& cluster, base::Random random, std::string_view user_agent);

  kube::Client reviewer_;  // not audited
  kube::AccessReview review_;
  std::unique_ptr<journal::PastServer> server_;
};

}  // namespace tidemark::main
