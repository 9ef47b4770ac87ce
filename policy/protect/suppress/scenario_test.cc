// Plays testdata/*.txt. What sets the stage is in testing/stage.h; what asks:
//
//   step [after DURATION]     a pass, a second after the one before
//   writes                    what the last pass wanted of each group
//   classes                   how it shared what offline work has
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "policy/protect/suppress/testing/stage.h"

namespace tidemark::policy::protect {
namespace suppress_scenario_test {

using base::cat;

std::string list_of(const std::vector<std::int32_t>& ascending) {  // "0-3,8"
  std::string out;
  for (std::size_t at = 0; at < ascending.size();) {
    std::size_t last = at;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    out += cat(out.empty() ? "" : ",", ascending[at]);
    if (last > at) out += cat("-", ascending[last]);
    at = last + 1;
  }
  return out;
}

std::string amount(const SuppressPlan& plan) {
  if (!plan.policy) return plan.holds ? "as it was" : "nothing in force";
  if (*plan.policy == SuppressPolicy::kCfsQuota) return cat("quota ", plan.quota_us, plan.each ? " each" : "");
  return cat(plan.cpus.size(), " processors ", list_of(plan.cpus));
}

std::string line_of(const SuppressPlan& plan) {
  std::string out = cat("> [", model::reason_id(plan.reason), "]");
  if (plan.room) out += cat(" room ", plan.room->room.value, "m");
  return cat(out, plan.holds ? ", held: " : ", ", amount(plan));
}

std::string class_line(const ClassShare& share) {
  std::string out = cat("> ", share.name, ": uses ", share.used.value, "m, wants ", share.wants.value, "m, has ",
                        share.share.value, "m", share.cut ? ", cut" : "");
  if (share.satisfaction_permille) out += cat(", satisfied ", *share.satisfaction_permille, "/1000");
  return out;
}

class Scenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    testing::Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "step") {
      base::Duration after = std::chrono::seconds(1);
      if (!words.empty()) {
        if (words.next() != "after") throw std::runtime_error("wanted after");
        after = testing::duration(words.next());
      }
      last_ = stage_.step(after);
      answers.push_back(line_of(last_));
    } else if (verb == "writes") {
      answers = writes();
    } else if (verb == "classes") {
      for (const ClassShare& each : last_.classes) answers.push_back(class_line(each));
      if (answers.empty()) answers.emplace_back("> none");
    } else if (!stage_.take(verb, words)) {
      throw std::runtime_error(cat("no such verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  std::vector<std::string> writes() const {
    std::vector<std::string> out;
    for (const Intent& each : last_.intents) {
      out.push_back(cat("> ", each.group, ": ",
                        each.want == Want::kCpus ? cat("cpus ", list_of(each.cpus)) : cat("quota ", each.value), " [",
                        model::reason_id(each.reason), "]"));
    }
    if (out.empty()) out.emplace_back("> nothing");
    return out;
  }

  testing::SuppressStage stage_;
  SuppressPlan last_;
};

TEST(SuppressScenarios, MatchTheScenarioFiles) {
  testing::play_scenarios("policy/protect/suppress/testdata", 10, [] {
    auto scenario = std::make_shared<Scenario>();
    return [scenario](std::string_view line) { return scenario->run(line); };
  });
}

}  // namespace suppress_scenario_test
}  // namespace tidemark::policy::protect
