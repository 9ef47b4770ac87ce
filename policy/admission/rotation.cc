#include "policy/admission/rotation.h"

#include <algorithm>

namespace tidemark::policy::admission {
namespace {

using base::Duration;
using base::WallTime;

constexpr Duration kLookAgainMin = std::chrono::seconds(1);
constexpr Duration kLookAgainMax = std::chrono::hours(1);  // clocks are set, and objects are edited

// Two thirds of its life are over. A life of no length is over.
bool is_due(const Validity& validity, WallTime now) {
  return now >= validity.until + -((validity.until - validity.from) / 3);
}
WallTime due_at(const Validity& validity) {
  return validity.until + -((validity.until - validity.from) / 3);
}

// Clients reject a certificate from the future, created with a wrong clock, until then.
bool is_valid(const Validity& validity, WallTime now) {
  return now >= validity.from && now < validity.until;
}

class Clock {
 public:
  explicit Clock(WallTime now) : now_(now) {}
  bool passed(std::optional<WallTime> since, Duration wait) const {
    // A time in the future was written with a wrong clock.
    return !since || *since > now_ || now_ - *since >= wait;
  }
  void wake_at(WallTime when) { wake_ = std::min(wake_, when - now_); }
  Duration wake() const { return std::clamp(wake_, kLookAgainMin, kLookAgainMax); }

 private:
  WallTime now_;
  Duration wake_ = kLookAgainMax;
};

}  // namespace

RotationPlan next_rotation(const RotationFacts& facts, const RotationConfig& config, WallTime now) {
  Clock at(now);
  if (!facts.ca || !is_valid(*facts.ca, now)) {
    // An expired authority is useless; the next one may be trusted already.
    return {facts.ca && facts.next_ca && is_valid(*facts.next_ca, now) ? RotationStep::kPromoteNext
                                                                       : RotationStep::kMakeAll,
            Duration(0)};
  }
  const bool unusable = !facts.serving || !facts.serving_fits || !is_valid(*facts.serving, now);
  if (unusable || is_due(*facts.serving, now)) {
    // Near the authority's own end a new certificate would be due at once: then the authority is replaced first.
    if (unusable || facts.serving->until < facts.ca->until) {
      return {RotationStep::kIssueServing, Duration(0)};
    }
  } else {
    at.wake_at(due_at(*facts.serving));
  }
  if (facts.next_ca && is_valid(*facts.next_ca, now)) {
    if (facts.next_trusted && at.passed(facts.next_since, config.settle)) {
      return {RotationStep::kPromoteNext, Duration(0)};
    }
    if (facts.next_since) at.wake_at(*facts.next_since + config.settle);
    at.wake_at(facts.ca->until);
  } else if (is_due(*facts.ca, now)) {
    return {RotationStep::kMakeNext, Duration(0)};
  } else {
    at.wake_at(due_at(*facts.ca));
  }
  if (facts.old_ca) {
    if (at.passed(facts.old_since, config.settle)) return {RotationStep::kDropOld, Duration(0)};
    at.wake_at(*facts.old_since + config.settle);
  }
  return {RotationStep::kNothing, at.wake()};
}

}  // namespace tidemark::policy::admission
