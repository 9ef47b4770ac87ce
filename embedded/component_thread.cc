#include "embedded/component_thread.h"

#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "model/audit_line.h"

namespace tidemark::embedded {
namespace {

constexpr base::Duration kRetry = std::chrono::milliseconds(100);
constexpr base::BackoffConfig kMakeAgain{std::chrono::seconds(1), std::chrono::seconds(30), 2.0, 0.2};
constexpr base::Duration kMissingLook = std::chrono::seconds(1);
constexpr int kMissedBeforeWord = 50;
constexpr base::Duration kLastLinesLimit = std::chrono::seconds(2);  // of the audit

}  // namespace

ComponentThread::ComponentThread(const base::Clock& clock, const base::Log& log, base::Registry& metrics,
                                 std::uint64_t seed, ComponentConfig config, std::function<void(Error)> on_failure)
    : loop_(clock),
      log_(log.named(config.name)),
      random_(seed),
      metrics_(metrics),
      config_(std::move(config)),
      audit_(journal::AuditFile::make(loop_, log_.named("audit"), metrics_, config_.audit)),
      on_failure_(std::move(on_failure)),
      thread_([this] { run(); }) {}

ComponentThread::~ComponentThread() {
  loop_.stop_from_any_thread();
  thread_.join();
}

net::Task<void> ComponentThread::drain(net::EventLoop& asker) {
  auto done = std::make_shared<net::Event>(asker);
  loop_.post_from_any_thread([this, &asker, done] {
    if (scope_ == nullptr) return;
    draining_ = true;
    scope_->spawn(drain_here(asker, done));
  });
  if (!co_await done->wait_for(config_.drain_limit)) {
    log_.warn(base::cat("the ", config_.name, " is stopped before it was done"));
  }
}

net::Task<void> ComponentThread::drain_here(net::EventLoop& asker, std::shared_ptr<net::Event> done) {
  if (component_) co_await component_->drain();
  asker.post_from_any_thread([done] { done->set(); });
}

void ComponentThread::run() {
  {
    net::Scope scope(loop_);
    scope_ = &scope;
    scope.spawn(live());
    loop_.run();
    component_.reset();
    scope_ = nullptr;
  }
  if (audit_) audit_->finish(kLastLinesLimit);  // also of what was given up in the middle
  client_.reset();
  transport_.reset();
}

net::Task<void> ComponentThread::live() {
  net::HttpClientConfig http;
  http.url = *net::parse_url("https://" + config_.server_address);
  http.tls.ca.text = config_.ca_pem;
  transport_ = std::make_unique<net::HttpClient>(loop_, nullptr, std::move(http));
  kube::ClientConfig client;
  client.queries_per_second = config_.queries_per_second;
  client.burst = config_.burst;
  client.user_agent = base::cat("tidemark-", config_.name);
  client.metrics = &metrics_;
  std::function<void(model::AuditLine)> audit;
  if (audit_) {
    audit = [this](const model::AuditLine& line) { audit_->add(model::to_string(line)); };
    client.audit_actor = config_.actor;
    client.audit = audit;
  }
  const auto bearer = [token = config_.token] { return token; };
  client_ = std::make_unique<kube::Client>(loop_, *transport_, bearer, client, random_.fork());
  const ComponentSurroundings around{loop_, *client_, log_, random_, bearer, audit};
  int missed = 0;
  while (config_.before) {
    const auto ready = co_await config_.before(around);
    if (ready) break;
    if (ready.error().kind != ErrorKind::kNotFound || ++missed == kMissedBeforeWord) {
      log_.warn("waiting for a dependency", {{"error", ready.error()}});
    }
    co_await loop_.sleep(kRetry);
  }
  co_await begin_component(around);
}

net::Task<void> ComponentThread::begin_component(const ComponentSurroundings& around) {
  base::Backoff pauses(kMakeAgain, random_.fork());
  while (!draining_) {
    auto made = config_.make(around);
    if (made) {
      component_ = std::move(*made);
      component_->start();
      co_return;
    }
    Error error = std::move(made).error().within(base::cat("the ", config_.name, " cannot start"));
    if (!config_.missing) {
      on_failure_(std::move(error));
      co_return;
    }
    const base::MonotonicTime again = loop_.clock().monotonic() + pauses.next();
    do {
      co_await config_.missing(around, error);
      co_await loop_.sleep(kMissingLook);
    } while (!draining_ && loop_.clock().monotonic() < again);
  }
}

}  // namespace tidemark::embedded
