// `tidemark up`: everything in one process on one machine. The API server in memory has the caller's loop; the manager,
// the agent and the runtime have a thread and a loop each, and speak to the server over loopback like any client. The
// agent asks the runtime for pods by a socket, as it would ask a kubelet.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "console/console.h"
#include "journal/audit_file.h"
#include "manager/manager.h"
#include "net/loop.h"
#include "runtime/runtime.h"

namespace tidemark::embedded {

struct EmbeddedOptions {
  std::string data_dir;
  std::string listen = "127.0.0.1:6443";
  bool keep = true;  // objects survive a restart (SQLite in the data folder)
  manager::ManagerOptions manager;
  journal::AuditFileOptions audit;                 // of what the manager writes; none unless told
  bool pods = false;                               // this machine is a node
  std::string settings;                            // the file of settings, with pods; "": defaults
  agent::AgentOptions agent;                       // with pods
  runtime::RuntimeOptions runtime;                 // the same; node_name and shim_argv are to be given
  console::ConsoleOptions console{.listen = "0"};  // "0": none
  bool console_writes = false;
  std::string person;  // author of the orders that the console gives
  // The past that the console shows from directories of journals and agents; empty: nothing of it.
  std::function<console::PastFiles(std::vector<std::string> journals, std::vector<std::string> agents)> past_files{};
};

void declare_flags(base::Flags& flags, EmbeddedOptions& options);

class Embedded {
 public:
  // Done when the server listens and the kubeconfig is written; the manager starts when the custom resources are in.
  // `on_failure` is called on `loop` when the manager cannot start after all: the caller ends then.
  static Result<std::unique_ptr<Embedded>> start(net::EventLoop& loop, base::Log log, base::Registry& metrics,
                                                 std::uint64_t seed, EmbeddedOptions options,
                                                 std::function<void(Error)> on_failure);
  virtual ~Embedded() = default;  // stops the threads, then the server

  virtual std::string kubeconfig() const = 0;
  virtual std::string address() const = 0;
  virtual std::string console_url() const = 0;  // "" without a console
  virtual net::Task<void> drain() = 0;
};

}  // namespace tidemark::embedded
