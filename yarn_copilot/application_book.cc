#include "yarn_copilot/application_book.h"

#include <algorithm>
#include <utility>

namespace tidemark::yarn_copilot {
namespace {

constexpr base::BackoffConfig kRetry = {.initial = std::chrono::seconds(2), .max = std::chrono::minutes(2)};
constexpr base::Duration kRateWaitMax = std::chrono::seconds(10);
constexpr base::Duration kLookAgain = std::chrono::seconds(30);  // for applications that were not found

}  // namespace

ApplicationBook::ApplicationBook(net::EventLoop& loop, net::WorkerPool& workers, base::Log log, base::Registry& metrics,
                                 base::Random random, ApplicationBookConfig config)
    : loop_(loop),
      workers_(workers),
      log_(std::move(log)),
      random_(random.fork()),
      config_(std::move(config)),
      calls_(metrics.counter("tidemark_yarn_copilot_resource_manager_calls_total",
                             "Application reports requested from the ResourceManager.")),
      failed_(metrics.counter("tidemark_yarn_copilot_resource_manager_failed_total", "Requests without an answer.")),
      rate_(config_.calls_per_second, config_.calls_burst),
      backoff_(kRetry, random.fork()),
      wanted_(loop),
      scope_(loop) {
  if (config_.managers) scope_.spawn(run());
}

void ApplicationBook::set(const std::set<std::string>& applications) {
  if (!config_.managers) return;
  const base::MonotonicTime now = loop_.clock().monotonic();
  for (auto& [application, known] : known_) {
    if (applications.contains(application)) known.wanted = now;
  }
  std::erase_if(known_, [&](const auto& each) { return now - each.second.wanted >= config_.remembered_for; });
  bool fresh = false;
  for (const std::string& each : applications) {
    if (known_.size() == kApplicationsMax) break;
    fresh |= known_.emplace(each, Known{.report = {}, .not_before = {}, .wanted = now}).second;
  }
  if (fresh) wanted_.set();
}

const hadoop::ApplicationReport* ApplicationBook::find(std::string_view application) const {
  const auto at = known_.find(application);
  return at == known_.end() || !at->second.report ? nullptr : &*at->second.report;
}

std::optional<std::string> ApplicationBook::next() const {
  const base::MonotonicTime now = loop_.clock().monotonic();
  for (const auto& [application, known] : known_) {
    if (!known.report && (!known.not_before || *known.not_before <= now)) return application;
  }
  return std::nullopt;
}

net::Task<void> ApplicationBook::run() {
  for (;;) {
    wanted_.clear();
    if (const auto application = next()) {
      const auto wait = rate_.reserve(loop_.clock().monotonic(), kRateWaitMax);
      co_await loop_.sleep(wait.value_or(kRateWaitMax));
      co_await ask(*application);
    } else if (manager_) {
      if (!co_await wanted_.wait_for(config_.idle)) manager_.reset();
    } else {
      co_await wanted_.wait_for(kLookAgain);
    }
  }
}

net::Task<void> ApplicationBook::ask(std::string application) {
  const auto id = hadoop::parse_application_id(application);
  Result<hadoop::ApplicationReport> report = fail(ErrorKind::kNotFound, "no name of an application");
  if (id) {
    if (!manager_) {
      manager_ = std::make_unique<hadoop::ResourceManager>(loop_, &workers_, *config_.managers, random_.fork());
    }
    calls_.add();
    report = co_await manager_->application(*id, config_.limit);
  }
  const bool answered = report || report.error().kind == ErrorKind::kNotFound;
  if (answered && failing_) log_.info("the ResourceManager answers again", {});
  if (!answered && !failing_) log_.warn("the ResourceManager does not answer", {{"error", report.error()}});
  failing_ = !answered;
  if (!answered) {
    failed_.add();
    co_await loop_.sleep(backoff_.next());
    co_return;
  }
  backoff_.reset();
  const auto known = known_.find(application);
  if (known == known_.end()) co_return;  // it was dropped
  if (report) {
    known->second.report = *std::move(report);
  } else {
    known->second.not_before = loop_.clock().monotonic() + config_.unknown_for;
  }
}

}  // namespace tidemark::yarn_copilot
