#include "agent/reaction/reactor.h"

#include <array>
#include <string_view>

#include "base/check.h"

namespace tidemark::agent {

using TakenOutcome = ReactionTaken::Outcome;

namespace {
// The CPU list of a large machine; a longer text is not ours, and nothing is written.
constexpr std::size_t kShownBytes = 1024;
}  // namespace

std::optional<ReactionTaken> Reactor::withdraw() {
  int state = state_.load();
  while (state != kLoops && state != kOver) {
    if (state == kLooking) {
      state_.wait(kLooking);
      state = state_.load();
    } else if (state_.compare_exchange_weak(state, kLoops)) {
      return state == kTaken ? std::optional(taken_) : std::nullopt;
    }
  }
  return std::nullopt;
}

Result<void> Reactor::arm(const linux::Hierarchies& hierarchies, const policy::protect::ReactionPlan& plan,
                          const ReactionOrder& order) {
  TM_CHECK(state_.load() == kLoops, "withdrawn before it is armed anew");
  TM_TRY(const bool others, files_.open(hierarchies, plan, !order.only_shown));
  if (others) use_.forget();
  order_ = order;
  state_.store(kArmed);
  state_.notify_one();
  return {};
}

void Reactor::close_files() {
  TM_CHECK(state_.load() == kLoops, "withdrawn before its files are closed");
  files_.close();
}

bool Reactor::look() {
  int armed = kArmed;
  if (!state_.compare_exchange_strong(armed, kLooking)) return false;
  const bool taken = look_now();
  state_.store(taken ? kTaken : kArmed);
  state_.notify_one();
  return taken;
}

bool Reactor::look_now() {
  const base::MonotonicTime now = clock_.monotonic();
  const auto used_ns = files_.used_ns();
  if (!used_ns) {
    taken_ = {};
    return true;
  }
  use_.take({now, *used_ns});
  const auto risen = use_.risen_over(order_.known);
  const policy::protect::ReactionStep* step = risen ? policy::protect::step_for(order_.steps, *risen) : nullptr;
  if (step == nullptr) return false;
  taken_ = take(static_cast<std::size_t>(step - order_.steps.data()));
  taken_.risen = *risen;
  taken_.took = clock_.monotonic() - now;
  return true;
}

// Another program may write between the look and the write: the kernel has no compare-and-swap for files. The next look
// of the enforcer then sees our value, as after its own writes (linux/cgroup/write.h).
ReactionTaken Reactor::take(std::size_t step) const {
  ReactionTaken out;
  out.outcome = TakenOutcome::kWouldWrite;
  out.step = step;
  if (order_.only_shown) return out;
  std::array<char, kShownBytes> space;
  for (std::size_t at = 0; at < files_.size(); ++at) {
    const std::string_view there = files_.shown(at, space);
    if (there == order_.over) continue;
    out.outcome = there.empty() ? TakenOutcome::kUnreadable : TakenOutcome::kNotOurs;
    return out;
  }
  out.outcome = TakenOutcome::kWrote;
  for (; out.files < files_.size(); ++out.files) {
    out.error = files_.put(out.files, order_.bytes[step]);
    if (out.error == 0) continue;
    out.outcome = TakenOutcome::kRefused;
    break;
  }
  return out;
}

bool Reactor::wait_until_armed() const {
  int state = state_.load();
  for (; state != kArmed && state != kOver; state = state_.load()) state_.wait(state);
  return state == kArmed;
}

void Reactor::end() {
  (void)withdraw();  // the next owner finds in the journal what was written
  state_.store(kOver);
  state_.notify_all();
}

}  // namespace tidemark::agent
