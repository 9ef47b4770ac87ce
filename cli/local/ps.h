// `tidemark local ps`: what runs, waits and has ended on this machine.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/local/server.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::cli {

struct PsOptions {
  LocalServer server;
  bool all = false;
  bool json = false;
};

// The whole output.
net::Task<Result<std::string>> local_ps(net::EventLoop& loop, kube::Client& client, PsOptions options);

}  // namespace tidemark::cli
