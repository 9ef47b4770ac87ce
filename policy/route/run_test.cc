#include "policy/route/run.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "policy/route/names.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::route {
namespace {

using policy::testing::Words;

constexpr std::string_view effect_name(Effect effect) {
  constexpr std::string_view kNames[] = {"none", "route", "reserve", "submit", "stop", "release"};
  return kNames[static_cast<std::size_t>(effect)];
}

// One run; each event is a line, and its answer is the phase, the effect that the run wants, and what is known.
class RunScenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    if (verb == "facts") {
      facts_.rerun_safe = words.next() == "safe";
      facts_.other_side_possible = words.next() == "other-side";
      return {};
    }
    if (verb == "after") {
      now_ = now_ + policy::testing::duration(words.next());
      return {};
    }
    if (verb == "no-more-kubernetes") {
      config_.no_more_kubernetes = true;
      return {};
    }
    step(verb, words);
    words.expect_end();
    return {show()};
  }

 private:
  void step(const std::string& verb, Words& words) {
    if (verb == "queue") {
      run_ = queue(run_, now_);
    } else if (verb == "route") {
      run_ = on_routed(run_, {side_of(words.next()), RouteReason::kWithinShare}, now_);
    } else if (verb == "reserved") {
      run_ = on_reserved(run_, {words.next()}, now_);
    } else if (verb == "accepted") {
      run_ = on_accepted(run_, now_);
    } else if (verb == "refused") {
      run_ = on_refused(run_, *end_class_of(words.next()), facts_, config_, now_);
    } else if (verb == "seen") {
      run_ = on_observed(run_, seen(words.next()), facts_, config_, now_);
    } else if (verb == "stopped") {
      std::optional<End> end;
      if (!words.empty()) {
        const std::string word = words.next();
        end = word == "never-started" ? End{EndClass::kKilled, std::nullopt, true} : End{*end_class_of(word)};
      }
      run_ = on_stopped(run_, end, now_);
    } else if (verb == "stop-too-late") {
      run_ = on_stop_too_late(run_, now_);
    } else if (verb == "stop-absent") {
      run_ = on_stop_absent(run_, config_, now_);
    } else if (verb == "released") {
      run_ = on_released(run_, facts_, now_);
    } else if (verb == "cancel") {
      run_ = on_cancel(run_, now_);
    } else {
      throw std::runtime_error(base::cat("unknown verb: ", verb));
    }
  }

  static Observation seen(const std::string& word) {
    if (word == "unknown") return {};
    if (word == "absent") return {DriverState::kAbsent};
    if (word == "pending") return {DriverState::kPending};
    if (word == "admitted") return {DriverState::kAdmitted};
    if (word == "no-image") return {.state = DriverState::kAdmitted, .image_unavailable = true};
    if (word == "running") return {DriverState::kRunning};
    const auto end = end_class_of(word);
    if (!end) throw std::runtime_error(base::cat("unknown observation: ", word));
    return {DriverState::kEnded, End{*end}};
  }

  std::string show() const {
    std::string out = base::cat("> ", name_of(run_.phase), ", wants ", effect_name(effect_of(run_)));
    if (run_.attempts.empty()) return out;
    const Attempt& attempt = run_.attempts.back();
    out += base::cat("; attempt ", run_.attempts.size(), " on ", name_of(attempt.side));
    if (attempt.stop != StopReason::kNone) out += base::cat(", stop for ", name_of(attempt.stop));
    if (attempt.end) out += base::cat(", end ", name_of(attempt.end->end_class));
    if (attempt.end && attempt.end->never_started) out += ", never started";
    return out;
  }

  Run run_;
  RunFacts facts_;
  RunConfig config_;
  base::WallTime now_{std::chrono::hours(500'000)};
};

TEST(RouteRun, Scenarios) {
  policy::testing::play_scenarios("policy/route/testdata", 10, [] {
    auto scenario = std::make_shared<RunScenario>();
    return [scenario](std::string_view line) { return scenario->run(line); };
  });
}

TEST(RouteNames, EveryWordReadsBack) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(phase_of(name_of(Phase(i))), Phase(i));
  for (int i = 0; i < 7; ++i) EXPECT_EQ(end_class_of(name_of(EndClass(i))), EndClass(i));
  for (int i = 0; i < 7; ++i) EXPECT_EQ(stop_reason_of(name_of(StopReason(i))), StopReason(i));
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(route_reason_of(name_of(RouteReason(i))), RouteReason(i));
  }
  EXPECT_EQ(text_of(reason_of(RouteReason::kWaitsForOthers)),
            "the run waits: it needs Kubernetes, and too many runs wait there [TM-ROUTE-012]");
  EXPECT_EQ(text_of(reason_of(EndClass::kLost)), "the side forgot the driver before its end was read [TM-ROUTE-019]");
  EXPECT_EQ(reason_of(StopReason::kNone), std::nullopt);
  EXPECT_EQ(model::reason_id(*reason_of(StopReason::kStart)), "TM-ROUTE-025");
  EXPECT_EQ(side_of("mesos"), std::nullopt);
}

}  // namespace
}  // namespace tidemark::policy::route
