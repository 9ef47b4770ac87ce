#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "base/text.h"
#include "policy/protect/limits/limits.h"
#include "policy/protect/testing/tasks.h"

namespace tidemark::policy::protect {
namespace {

using testing::Words;

// Beside the tasks: "ratio 125", "suppressed yes|no", "group-shares yes|no"; "limits" prints.
class Scenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "ratio") {
      input_.ratio_percent = testing::quantity(words.next()).scaled_value_saturated(0);
    } else if (verb == "suppressed") {
      input_.quota_suppressed = words.next() == "yes";
    } else if (verb == "group-shares") {
      input_.group_shares = words.next() == "yes";
    } else if (verb == "limits") {
      const auto tasks = stage_.tasks();
      input_.tasks = tasks;
      const auto intents = batch_limits(input_);
      answers = testing::lines_of(intents);
    } else if (!stage_.take(verb, words)) {
      throw std::runtime_error(base::cat("unknown verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  testing::TaskStage stage_;
  LimitsInput input_;
};

TEST(Limits, AreAsTheFilesSay) {
  testing::play_scenarios("policy/protect/limits/testdata", 4, [] {
    return [scenario = std::make_shared<Scenario>()](std::string_view line) { return scenario->run(line); };
  });
}

}  // namespace
}  // namespace tidemark::policy::protect
