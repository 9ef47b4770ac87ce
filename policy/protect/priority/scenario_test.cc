#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "base/text.h"
#include "policy/protect/priority/class_weights.h"
#include "policy/protect/priority/cpu_priority.h"
#include "policy/protect/testing/tasks.h"

namespace tidemark::policy::protect {
namespace {

using base::cat;
using testing::Words;

std::int64_t number(const std::string& text) {
  return testing::quantity(text).scaled_value_saturated(0);
}

// Beside the tasks:
//   kernel bvt|qos_level|idle|weight     its ladder
//   kernel-switch on|off     state on|off
//   cpu-policy groupIdentity|coreSched
//   own-groups-below GROUP
//   class-of lsr|ls|be on|off IDENTITY [idle]
// "priorities" asks.
class PriorityScenario {
 public:
  PriorityScenario() { input_.groups = {"kubepods", "kubepods/burstable", "kubepods/besteffort"}; }

  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "kernel") {
      input_.rung = rung(words.next());
    } else if (verb == "kernel-switch") {
      input_.switched_off = words.next() == "off";
    } else if (verb == "state") {
      input_.off = words.next() == "off";
    } else if (verb == "cpu-policy") {
      input_.cpu_policy = words.next() == "groupIdentity" ? CpuQosPolicy::kGroupIdentity : CpuQosPolicy::kCoreSched;
    } else if (verb == "no-groups") {
      input_.groups = {};
    } else if (verb == "own-groups-below") {
      const std::string kubepods = cat(words.next(), "/kubepods");
      input_.groups = {kubepods, cat(kubepods, "/burstable"), cat(kubepods, "/besteffort")};
      input_.own_groups = true;
    } else if (verb == "class-of") {
      CpuQos& qos = class_of(words.next());
      qos.enable = words.next() == "on";
      qos.group_identity = number(words.next());
      qos.sched_idle = !words.empty() && words.next() == "idle" ? 1 : 0;
    } else if (verb == "priorities") {
      const auto tasks = stage_.tasks();
      input_.tasks = tasks;
      const PriorityPlan plan = cpu_priority(input_);
      answers = testing::lines_of(plan.intents);
      for (const auto& each : plan.refused) answers.push_back(cat("> ", each.group, " refused: ", each.why));
      if (offline_runs_idle(input_)) answers.emplace_back("> offline runs idle");
    } else if (!stage_.take(verb, words)) {
      throw std::runtime_error(cat("no such verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  static std::optional<Knob> rung(const std::string& word) {
    if (word == "bvt") return Knob::kCpuBvt;
    if (word == "qos_level") return Knob::kCpuQosLevel;
    if (word == "idle") return Knob::kCpuIdle;
    if (word == "weight") return std::nullopt;
    throw std::runtime_error(cat("no such rung: ", word));
  }
  CpuQos& class_of(const std::string& word) {
    if (word == "lsr") return input_.lsr;
    if (word == "ls") return input_.ls;
    if (word == "be") return input_.be;
    throw std::runtime_error(cat("no such class: ", word));
  }

  testing::TaskStage stage_;
  PriorityInput input_;
};

// Beside the tasks: "class NAME WEIGHT [LOW-PERCENT]", "no-classes", "idle yes|no"; "weights" asks.
class WeightScenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "class") {
      model::WorkClass& one = classes_.emplace_back();
      one.name = words.next();
      one.cpu_weight = number(words.next());
      if (!words.empty()) one.memory_low_percent = number(words.next());
    } else if (verb == "no-classes") {
      classes_.clear();
    } else if (verb == "idle") {
      idle_ = words.next() == "yes";
    } else if (verb == "weights") {
      const auto tasks = stage_.tasks();
      const ClassWeightsPlan plan = class_weights({tasks, classes_, idle_});
      answers = testing::lines_of(plan.intents);
      for (const auto& each : plan.without_weight) answers.push_back(cat("> ", each, " without weight"));
      if (group_shares_of_limits(classes_, idle_)) answers.emplace_back("> shares of groups: the limits'");
    } else if (!stage_.take(verb, words)) {
      throw std::runtime_error(cat("no such verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  testing::TaskStage stage_;
  std::vector<model::WorkClass> classes_;
  bool idle_ = false;
};

template <class Scenario>
void play(std::string_view folder, std::size_t files_min) {
  testing::play_scenarios(folder, files_min, [] {
    return [scenario = std::make_shared<Scenario>()](std::string_view line) { return scenario->run(line); };
  });
}

TEST(Priority, GroupsMatchTheScenarioFiles) {
  play<PriorityScenario>("policy/protect/priority/testdata/groups", 5);
}

TEST(ClassWeights, MatchTheScenarioFiles) {
  play<WeightScenario>("policy/protect/priority/testdata/weights", 3);
}

}  // namespace
}  // namespace tidemark::policy::protect
