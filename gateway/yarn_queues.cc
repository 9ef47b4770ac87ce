#include "gateway/yarn_queues.h"

#include <algorithm>
#include <utility>

namespace tidemark::gateway {
namespace {

using namespace policy::route;

constexpr base::Duration kQueuesLimit = std::chrono::seconds(10);
constexpr int kMissedQueuesMax = 3;  // after these, what was seen may be wrong

}  // namespace

YarnQueues::YarnQueues(net::EventLoop& loop, hadoop::ApplicationsRest rest, const base::Log& log, base::Duration poll)
    : loop_(loop), rest_(std::move(rest)), log_(log.named("queues")), poll_(poll), scope_(loop) {}

void YarnQueues::start() {
  scope_.spawn(poll());
}

void YarnQueues::note(const Record& record) {
  const Attempt& attempt = record.run.attempts.back();
  if (attempt.side != Side::kYarn || !attempt.accepted || !attempt.running_since) return;
  const std::string name(record.job.conf_or(kQueueConf, kDefaultQueue));
  if (waits_s_.size() >= kQueuesMax && !waits_s_.contains(name)) return;
  auto& waits = waits_s_[name];
  const auto wait = std::chrono::floor<std::chrono::seconds>(*attempt.running_since - *attempt.accepted).count();
  waits.push_back(std::max<std::int64_t>(wait, 0));
  if (waits.size() > kWaitsMax) waits.pop_front();
}

std::optional<YarnQueue> YarnQueues::queue(std::string_view name) const {
  const bool fresh =
      last_contact_ && loop_.clock().monotonic() - *last_contact_ < kMissedQueuesMax * poll_ + kQueuesLimit;
  const hadoop::QueueState* state = fresh ? find_queue(queues_, name) : nullptr;
  if (state == nullptr) return std::nullopt;
  YarnQueue out{.path = state->path,
                .pending = state->pending,
                .pending_containers = state->pending_containers,
                .used_percent = static_cast<std::int64_t>(std::clamp(state->used_percent, 0.0, 1000.0))};
  if (const auto at = waits_s_.find(name); at != waits_s_.end()) {
    const std::vector<std::int64_t> waits(at->second.begin(), at->second.end());
    out.waits = static_cast<std::int64_t>(waits.size());
    out.p95_bound_s = p95_bound(waits);
  }
  return out;
}

net::Task<void> YarnQueues::poll() {
  while (true) {
    auto queues = co_await rest_.queues(kQueuesLimit);
    if (queues) {
      queues_ = *std::move(queues);
      last_contact_ = loop_.clock().monotonic();
    } else {
      log_.warn("cannot read the queues of YARN; retrying", {{"error", queues.error()}});
    }
    co_await loop_.sleep(poll_);
  }
}

}  // namespace tidemark::gateway
