#include "agent/protect/line_ends.h"

#include <functional>
#include <utility>

namespace tidemark::agent {

base::Duration own_moment(std::string_view node, base::Duration within) {
  const auto seconds = static_cast<std::size_t>(std::chrono::duration_cast<std::chrono::seconds>(within).count());
  return std::chrono::seconds(seconds == 0 ? 0 : std::hash<std::string_view>()(node) % seconds);
}

LineEnds::LineEnds(const base::Log& log, base::Registry& metrics, base::Duration later)
    : log_(log),
      ended_(metrics.gauge("tidemark_agent_lines_ended",
                           "Raised thresholds of the NodeSLO that ended by this node's clock, and are lower than it "
                           "says.")),
      later_(later) {}

void LineEnds::use(policy::protect::NodeRules said, base::WallTime now) {
  said_ = std::move(said);
  hold(now);
}

bool LineEnds::look(base::WallTime now) {
  const bool other = policy::settings::ends_passed(said_, now + -later_) != passed_;
  if (other) {
    const auto before = held_.lowered;
    hold(now);
    if (held_.lowered != before && !held_.lowered.empty()) {
      log_.info("raised thresholds ended by this node's clock", {{"lines", to_string(held_)}});
    }
  }
  if (says_.empty() && !held_.lowered.empty() && now - held_.since >= later_ + policy::settings::kManagerPatience) {
    says_ = to_string(held_);
    log_.warn("raised thresholds ended, but the NodeSLO still has them", {{"lines", says_}});
  }
  return other;
}

void LineEnds::hold(base::WallTime now) {
  passed_ = policy::settings::ends_passed(said_, now + -later_);
  auto held = policy::settings::lines_held(said_, now + -later_);
  if (held.lowered != held_.lowered) says_.clear();
  held_ = std::move(held);
  ended_.set(static_cast<double>(held_.lowered.size()));
}

}  // namespace tidemark::agent
