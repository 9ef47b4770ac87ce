#include "policy/sell/usage/report_due.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::sell {
namespace {

using base::cat;
using base::MonotonicTime;
using std::chrono::seconds;
using testing::Words;

std::string amount(const ReportMoved& moved, std::int64_t value) {
  if (moved.resource == ReportResource::kCpu) return model::Quantity::of_milli(value).canonical();
  return model::Quantity::of(value, model::Quantity::Format::kBinarySI).canonical();
}

// One step a second. Each attempt has the result `outcome` before the next step; `lost`: no result.
class ReportDueScenario {
 public:
  std::vector<std::string> run(std::string_view text) {
    Words words(text);
    if (words.empty()) return {};
    const std::string verb = words.next();
    if (verb == "interval") {
      config_.interval = testing::duration(words.next());
    } else if (verb == "at-once") {
      config_.at_once = words.next() == "yes";
    } else if (verb == "capacity") {
      observation_.capacity = testing::amounts(words.next());
    } else if (verb == "node") {
      observation_.levels.node = level(words.next());
    } else if (verb == "system") {
      observation_.levels.system = level(words.next());
    } else if (verb == "object") {
      observation_.object_exists = words.next() == "yes";
    } else if (verb == "outcome") {
      outcome_ = words.next();
    } else if (verb == "back") {
      observation_.back = now_;
    } else if (verb == "clock") {
      now_ = MonotonicTime{testing::duration(words.next())};
    } else if (verb == "run") {
      return steps(testing::duration(words.next()));
    } else {
      throw std::runtime_error(cat("no such verb: ", verb));
    }
    words.expect_end();
    return {};
  }

 private:
  static model::ReportedUsage level(const std::string& text) {
    if (text == "-") return std::nullopt;
    return testing::amounts(text);
  }

  std::vector<std::string> steps(base::Duration length) {
    std::vector<std::string> answers;
    for (const MonotonicTime end = now_ + length; now_ < end; now_ = now_ + seconds(1)) {
      auto step = report_due(state_, observation_, config_, now_);
      state_ = step.state;
      observation_.outcome.reset();
      if (!step.plan.report) continue;
      std::string line = cat("> ", base::format_go_duration(now_.since_start), "  ");
      if (step.plan.why == ReportWhy::kInterval) line += "interval";
      if (step.plan.why == ReportWhy::kFailedLast) line += "failed-last";
      if (step.plan.why == ReportWhy::kLargeChange) {
        const ReportMoved& moved = step.plan.moved.value();
        line += cat("large-change  ", moved.subject == ReportSubject::kNode ? "node" : "system", " ",
                    moved.resource == ReportResource::kCpu ? "cpu" : "memory", "  ", amount(moved, moved.told), " to ",
                    amount(moved, moved.now), "  ", moved.permille, " permille");
      }
      answers.push_back(line);
      if (outcome_ == "lost") continue;
      observation_.outcome = outcome_ == "arrives" ? ReportOutcome::kArrived : ReportOutcome::kFailed;
      observation_.outcome_levels = observation_.levels;
    }
    if (answers.empty()) answers.emplace_back("> nothing");
    return answers;
  }

  ReportState state_;
  ReportConfig config_;
  ReportObservation observation_;
  std::string outcome_ = "arrives";
  MonotonicTime now_;
};

TEST(ReportDue, MatchesTheScenarioFiles) {
  testing::play_scenarios("policy/sell/usage/testdata/due", 3, [] {
    return [scenario = std::make_shared<ReportDueScenario>()](std::string_view text) { return scenario->run(text); };
  });
}

TEST(ReportDue, SingleNodeReportsAtOnce) {
  ReportState state;
  std::vector<int> at;
  for (int now_s = 0; now_s < 130; ++now_s) {
    ReportObservation observation;
    if (!at.empty() && at.back() == now_s - 1) observation.outcome = ReportOutcome::kArrived;
    auto step = report_due(state, observation, {seconds(60), true, base::Duration(0), seconds(3)},
                           MonotonicTime{seconds(now_s)});
    state = step.state;
    if (step.plan.report) at.push_back(now_s);
  }
  EXPECT_EQ(at, (std::vector<int>{3, 63, 123}));
}

// The seconds at which a node reports in its first five minutes, where its attempts fail until `arrives_s`. From
// `back_s` on the node knows that the API server is there again.
std::vector<int> attempts(int spread_s, int arrives_s, int back_s = 1000) {
  ReportState state;
  std::vector<int> at;
  std::optional<ReportOutcome> outcome;
  for (int now_s = 0; now_s < 300; ++now_s) {
    ReportObservation observation;
    observation.outcome = std::exchange(outcome, std::nullopt);
    if (now_s >= back_s) observation.back = MonotonicTime{seconds(back_s)};
    auto step =
        report_due(state, observation, {seconds(60), true, seconds(spread_s), {}}, MonotonicTime{seconds(now_s)});
    state = step.state;
    if (!step.plan.report) continue;
    at.push_back(now_s);
    outcome = now_s < arrives_s ? ReportOutcome::kFailed : ReportOutcome::kArrived;
  }
  return at;
}

TEST(ReportDue, EachNodeHasItsOwnTimeAfterAStartAndAfterAFailure) {
  EXPECT_EQ(attempts(0, 0), (std::vector{60, 120, 180, 240}));
  EXPECT_EQ(attempts(13, 0), (std::vector{73, 133, 193, 253}));
  EXPECT_EQ(attempts(0, 140), (std::vector{60, 80, 120, 180, 240}));
  EXPECT_EQ(attempts(13, 140), (std::vector{73, 106, 159, 219, 279}));
  EXPECT_EQ(attempts(0, 130, 130), (std::vector{60, 80, 120, 140, 200, 260}));
  EXPECT_EQ(attempts(13, 130, 130), (std::vector{73, 106, 143, 203, 263}));
}

TEST(ReportDue, IsTotalAndNeverHurries) {
  std::mt19937_64 random(5);
  const auto any = [&random] {
    switch (random() % 4) {
      case 0:
        return std::numeric_limits<std::int64_t>::max();
      case 1:
        return std::numeric_limits<std::int64_t>::min();
      default:
        return static_cast<std::int64_t>(random() % 100'000);
    }
  };
  const auto levels = [&](ReportedLevels& out) {
    if (random() % 3 != 0) out.node = model::Resources{{any()}, {any()}};
    if (random() % 3 != 0) out.system = model::Resources{{any()}, {any()}};
  };
  ReportState state;
  MonotonicTime now;
  std::optional<MonotonicTime> last;
  int reports = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 500 == 0) {
      now = MonotonicTime{seconds(random() % 100'000)};
      if (last && now < *last) last.reset();
    }
    now = now + seconds(random() % 10);
    ReportObservation observation;
    levels(observation.levels);
    observation.capacity = {{any()}, {any()}};
    observation.object_exists = random() % 20 != 0;
    if (random() % 3 == 0) observation.back = MonotonicTime{seconds(random() % 100'000)};
    if (random() % 3 == 0) {
      observation.outcome = random() % 2 == 0 ? ReportOutcome::kArrived : ReportOutcome::kFailed;
      if (random() % 2 == 0) levels(observation.outcome_levels.emplace());
    }
    auto step = report_due(state, observation, {seconds(random() % 200), random() % 2 == 0}, now);
    state = step.state;
    if (step.plan.moved) {
      ASSERT_EQ(step.plan.why, ReportWhy::kLargeChange);
      ASSERT_GT(step.plan.moved->permille, 100);
    }
    if (!step.plan.report) continue;
    ++reports;
    ASSERT_TRUE(observation.object_exists);
    if (last) ASSERT_GE(now - *last, kReportGapMin);
    last = now;
  }
  EXPECT_GT(reports, 1'000);
}

}  // namespace
}  // namespace tidemark::policy::sell
