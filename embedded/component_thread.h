// One component on a thread of its own, with an event loop and a client of the embedded server: the manager, the agent,
// the runtime.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "journal/audit_file.h"
#include "kube/client.h"
#include "net/http_client.h"
#include "net/loop.h"

namespace tidemark::embedded {

class Component {
 public:
  virtual ~Component() = default;
  virtual void start() = 0;
  virtual net::Task<void> drain() = 0;
};

// What it is made of, on its own thread.
struct ComponentSurroundings {
  net::EventLoop& loop;
  kube::Client& client;
  base::Log log;
  base::Random& random;
  std::function<std::string()> bearer;
  std::function<void(model::AuditLine)> audit;  // may be empty
};

// Wide, because a thread gets all that it needs before it starts.
struct ComponentConfig {
  std::string name;   // in logs, and of its client
  std::string actor;  // in the audit
  std::string server_address, ca_pem, token;
  double queries_per_second = 500;  // both ends are ours
  int burst = 500;
  journal::AuditFileOptions audit;  // none unless told
  base::Duration drain_limit = std::chrono::seconds(15);
  // What has to be there before it is made; tried again until it answers well. May be empty.
  std::function<net::Task<Result<void>>(const ComponentSurroundings&)> before{};
  std::function<Result<std::unique_ptr<Component>>(const ComponentSurroundings&)> make;
  // What is done each time that it cannot be made, and each second until it is tried again. Empty: it is not tried
  // again.
  std::function<net::Task<void>(const ComponentSurroundings&, const Error&)> missing{};
};

class ComponentThread {
 public:
  // `on_failure` is called on the component's thread where it cannot be made, and is not tried again.
  ComponentThread(const base::Clock& clock, const base::Log& log, base::Registry& metrics, std::uint64_t seed,
                  ComponentConfig config, std::function<void(Error)> on_failure);
  ~ComponentThread();
  ComponentThread(const ComponentThread&) = delete;
  ComponentThread& operator=(const ComponentThread&) = delete;

  // On the thread of `asker`, while the component ends on its own what it has begun.
  net::Task<void> drain(net::EventLoop& asker);

 private:
  net::Task<void> drain_here(net::EventLoop& asker, std::shared_ptr<net::Event> done);
  void run();
  net::Task<void> live();
  net::Task<void> begin_component(const ComponentSurroundings& around);

  net::EventLoop loop_;
  base::Log log_;
  base::Random random_;
  base::Registry& metrics_;
  ComponentConfig config_;
  std::unique_ptr<journal::AuditFile> audit_;  // null where none is kept
  std::function<void(Error)> on_failure_;
  std::unique_ptr<net::HttpClient> transport_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<Component> component_;
  net::Scope* scope_ = nullptr;  // while the thread runs, and only there
  bool draining_ = false;        // the same
  std::thread thread_;           // last: it uses everything above
};

}  // namespace tidemark::embedded
