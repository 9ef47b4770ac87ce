#include "agent/protect/condition_controller.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "model/isolation.h"

namespace tidemark::agent {
namespace {

constexpr base::Duration kWriteLimit = std::chrono::seconds(10);

// Reduces each count to 0 or 1.
AgentStatus without_counts(AgentStatus status) {
  const auto any = [](std::int64_t& count) { count = std::min<std::int64_t>(count, 1); };
  for (StrategyStatus& each : status.strategies) any(each.in_force);
  for (std::int64_t* count : {&status.refused, &status.left, &status.unmet}) any(*count);
  return status;
}

}  // namespace

ConditionController::ConditionController(net::EventLoop& loop, kube::Writer& client, const base::Log& log,
                                         std::string node_name)
    : loop_(loop), client_(client), log_(log), node_name_(std::move(node_name)), scope_(loop) {}

void ConditionController::tell(const AgentStatus& status) {
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (writing_ || (not_before_ && now < *not_before_)) return;
  put_in_words(status);
  if (written_ && written_at_ && now - *written_at_ < pause_after(*written_)) return;
  if (!written_ || written_->enforces != said_.enforces) turned_ = loop_.clock().wall();
  writing_ = true;
  scope_.spawn(write(said_));
}

// The words are usually the same each second; the time at which they were shown does not count.
void ConditionController::put_in_words(const AgentStatus& status) {
  if (told_) told_->at = status.at;
  if (status == told_) return;
  told_ = status;
  const std::string_view reason = condition_reason(status);
  said_ = {reason == "Enforcing" || reason == "Holding" || status.off, std::string(reason), condition_message(status),
           condition_message(without_counts(status))};
}

// The message counts files and changes with each pod, on every node of a cluster. A change to zero files and another
// state mark are written soon, because a person waits for them.
base::Duration ConditionController::pause_after(const Said& written) const {
  const bool same_state = written.enforces == said_.enforces && written.reason == said_.reason &&
                          model::says_nothing_in_force(written.reason, written.message) ==
                              model::says_nothing_in_force(said_.reason, said_.message) &&
                          model::mark_read_by_agent(written.message) == model::mark_read_by_agent(said_.message);
  if (!same_state) return kConditionPause;
  return written.without_counts == said_.without_counts ? kConditionRefresh : kConditionWordsPause;
}

net::Task<void> ConditionController::write(Said said) {
  const std::string now = base::format_rfc3339(loop_.clock().wall());
  std::string body;
  base::JsonWriter(body)
      .begin_object()
      .key("status")
      .begin_object()
      .key("conditions")
      .begin_array()
      .begin_object()
      .member("type", model::kIsolationCondition)
      .member("status", std::string_view(said.enforces ? "True" : "False"))
      .member("reason", said.reason)
      .member("message", said.message)
      .member("lastHeartbeatTime", now)
      .member("lastTransitionTime", base::format_rfc3339(turned_))
      .end_object()
      .end_array()
      .end_object()
      .end_object();
  kube::WriteOptions options;
  options.subresource = "status";
  const auto written = co_await client_.patch(kube::kNodes, node_name_, kube::PatchType::kStrategicMerge,
                                              std::move(body), std::move(options), kWriteLimit);
  writing_ = false;
  const base::MonotonicTime at = loop_.clock().monotonic();
  not_before_ = at + (written ? kConditionPause : kConditionRetry);
  if (written) {
    written_ = std::move(said);
    written_at_ = at;
    if (std::exchange(failing_, false)) log_.info("the node's condition is written again");
    co_return;
  }
  if (!std::exchange(failing_, true)) {
    log_.warn("cannot write the node's condition; retrying", {{"error", written.error().message}});
  }
}

}  // namespace tidemark::agent
