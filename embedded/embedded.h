// `tidemark up`: the API server in memory and the manager in one process. Two threads, each with its own event loop:
// the server's (the caller's loop) and the manager's, which speaks to the server over loopback like any client.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "journal/audit_file.h"
#include "manager/manager.h"
#include "net/loop.h"

namespace tidemark::embedded {

struct EmbeddedOptions {
  std::string data_dir;
  std::string listen = "127.0.0.1:6443";
  bool keep = true;  // objects survive a restart (SQLite in the data folder)
  manager::ManagerOptions manager;
  journal::AuditFileOptions audit;  // of what the manager writes; none unless told
};

void declare_flags(base::Flags& flags, EmbeddedOptions& options);

class Embedded {
 public:
  // Done when the server listens and the kubeconfig is written; the manager starts when the custom resources are in.
  // `on_failure` is called on `loop` when the manager cannot start after all: the caller ends then.
  static Result<std::unique_ptr<Embedded>> start(net::EventLoop& loop, base::Log log, base::Registry& metrics,
                                                 std::uint64_t seed, EmbeddedOptions options,
                                                 std::function<void(Error)> on_failure);
  virtual ~Embedded() = default;  // stops the manager's thread, then the server

  virtual std::string kubeconfig() const = 0;
  virtual std::string address() const = 0;
  virtual net::Task<void> drain() = 0;
};

}  // namespace tidemark::embedded
