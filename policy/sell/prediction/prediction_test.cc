#include "policy/sell/prediction/prediction.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::sell {
namespace {

using base::cat;
using base::WallTime;
using model::PriorityClass;
using model::Resources;
using std::chrono::minutes;
using testing::Words;

constexpr WallTime kPredictionBegin{std::chrono::hours(24 * 20'000)};

UsageFigures figures(const Resources& use) {
  return {use.cpu.value * 1000, use.memory.value};
}

std::string text(const Resources& amounts) {
  return cat(model::Quantity::of_milli(amounts.cpu.value).canonical(), "/",
             model::Quantity::of(amounts.memory.value, model::Quantity::Format::kBinarySI).canonical());
}

std::optional<Resources> known(const std::string& word) {
  if (word == "-") return std::nullopt;
  return testing::amounts(word);
}

class PredictionScenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    if (verb == "predict") return answer();
    if (verb == "models") return list();
    if (verb == "node") {
      allocatable_ = known(words.next());
    } else if (verb == "node-use") {
      node_use_ = known(words.next());
    } else if (verb == "pod") {
      Pod& pod = pods_[words.next()];
      pod.priority = model::parse_priority_class(words.next());
      pod.request = testing::amounts(words.next());
      if (words.next() != "age") throw std::runtime_error("wanted age");
      pod.age = testing::duration(words.next());
    } else if (verb == "age") {
      Pod& pod = pods_.at(words.next());
      pod.age = testing::duration(words.next());
    } else if (verb == "ending") {
      pods_.at(words.next()).ending = true;
    } else if (verb == "gone") {
      pods_.erase(words.next());
    } else if (verb == "use") {
      Pod& pod = pods_.at(words.next());
      pod.use = known(words.next());
    } else if (verb == "train") {
      train(base::parse_int(words.next()).value());
    } else {
      throw std::runtime_error(cat("no such verb: ", verb));
    }
    words.expect_end();
    return {};
  }

 private:
  struct Pod {
    PriorityClass priority = PriorityClass::kNone;
    Resources request;
    base::Duration age{0};
    bool ending = false;
    std::optional<Resources> use;
  };

  void train(std::int64_t passes) {
    for (; passes > 0; --passes) {
      now_ = now_ + kTrainEvery;
      std::vector<TrainingPod> pods;
      pods.reserve(pods_.size());
      for (const auto& [uid, pod] : pods_) {
        pods.push_back({uid, pod.priority, pod.use ? std::optional(figures(*pod.use)) : std::nullopt});
      }
      models_.train({node_use_ ? std::optional(figures(*node_use_)) : std::nullopt, pods}, now_);
    }
  }

  std::vector<std::string> list() const {
    std::vector<std::string> keys;
    for (const std::string_view key : {"__node-__", "__node-koord-batch__", "__node-koord-free__", "__node-koord-mid__",
                                       "__node-koord-prod__", "__node-sys__", "__node__", "web"}) {
      if (models_.find(key) != nullptr) keys.emplace_back(key);
    }
    EXPECT_EQ(models_.size(), keys.size());
    return {cat("> ", base::join(keys, " "))};
  }

  std::vector<std::string> answer() const {
    std::vector<PredictedPod> pods;
    pods.reserve(pods_.size());
    for (const auto& [uid, pod] : pods_) pods.push_back({uid, pod.priority, pod.request, now_ + -pod.age, pod.ending});
    const auto told = predict(models_, {allocatable_, pods}, {}, now_);
    std::vector<std::string> out;
    switch (told.why) {
      case PredictionWhy::kPredicted:
        out.push_back(
            cat("> predicted  reclaimable ", text(told.reclaimable.value()), "  peak ", text(told.peak.value())));
        break;
      case PredictionWhy::kNodeUnknown:
        out.emplace_back("> node-unknown");
        break;
      case PredictionWhy::kSystemModelMissing:
        out.emplace_back("> system-model-missing");
        break;
      case PredictionWhy::kClassModelMissing:
        out.emplace_back("> class-model-missing");
        break;
    }
    if (told.why != PredictionWhy::kPredicted) EXPECT_FALSE(told.reclaimable || told.peak);
    out.push_back(cat("> by pod  ", text(told.by_pod.reclaimable), "  unreclaimable ", text(told.by_pod.unreclaimable),
                      "  unpredicted ", text(told.by_pod.unpredicted), "  predicted ", told.by_pod.predicted, " young ",
                      told.by_pod.young, " without ", told.by_pod.without_model));
    out.push_back(cat("> by class  ", text(told.by_class.reclaimable), "  unreclaimable ",
                      text(told.by_class.unreclaimable), "  request ", text(told.by_class.request)));
    return out;
  }

  UsageModels models_;
  std::map<std::string, Pod> pods_;
  std::optional<Resources> allocatable_;
  std::optional<Resources> node_use_;
  WallTime now_ = kPredictionBegin;
};

TEST(Prediction, MatchesTheScenarioFiles) {
  testing::play_scenarios("policy/sell/prediction/testdata", 2, [] {
    return [scenario = std::make_shared<PredictionScenario>()](std::string_view line) { return scenario->run(line); };
  });
}

TEST(Prediction, UntrainedClassPredictsNothing) {
  UsageModels trained;
  trained.train({figures({{1'000}, {1 << 30}}), {}}, kPredictionBegin);
  // The system's model alone, as after a restart with half of the files.
  UsageModels half;
  ASSERT_TRUE(half.restore(trained.checkpoint(kSystemModelKey, kPredictionBegin).value(), kPredictionBegin));
  const auto told = predict(half, {Resources{{1'000}, {1 << 30}}, {}}, {}, kPredictionBegin);
  EXPECT_EQ(told.why, PredictionWhy::kClassModelMissing);
  EXPECT_FALSE(told.reclaimable);
  EXPECT_FALSE(told.peak);
}

TEST(Prediction, IsTotalAndNeverNegativeNorMoreThanTheNodeOrTheRequests) {
  std::mt19937_64 random(37);
  const auto any = [&random]() -> std::int64_t {
    switch (random() % 6) {
      case 0:
        return std::numeric_limits<std::int64_t>::max();
      case 1:
        return std::numeric_limits<std::int64_t>::min();
      default:
        return static_cast<std::int64_t>(random() >> (random() % 60));
    }
  };
  const auto time = [&] { return WallTime{base::Duration(any())}; };
  for (int round = 0; round < 300; ++round) {
    UsageModels models;
    WallTime now = kPredictionBegin;
    std::vector<PredictedPod> pods;
    const std::vector<std::string> uids{"a", "b", "c", "d", "e"};
    pods.reserve(uids.size());
    for (int pass = 0; pass < 20; ++pass) {
      now = random() % 8 == 0 ? time() : WallTime{std::min(now.since_epoch, base::Duration::max() / 2) + kTrainEvery};
      std::vector<TrainingPod> training;
      training.reserve(uids.size());
      for (const auto& uid : uids) {
        training.push_back({uid, static_cast<PriorityClass>(random() % 5),
                            random() % 4 == 0 ? std::nullopt
                                              : std::optional(UsageFigures{std::max<std::int64_t>(any(), 0),
                                                                           std::max<std::int64_t>(any(), 0)})});
      }
      models.train({UsageFigures{std::max<std::int64_t>(any(), 0), std::max<std::int64_t>(any(), 0)}, training}, now);
    }
    for (const auto& uid : uids) {
      pods.push_back({uid, static_cast<PriorityClass>(random() % 5), {{any()}, {any()}}, time(), random() % 4 == 0});
    }
    const Resources allocatable{{any()}, {any()}};
    const auto told = predict(models, {allocatable, pods}, {any(), base::Duration(any())}, now);
    ASSERT_EQ(told.why, PredictionWhy::kPredicted);
    ASSERT_GE(told.reclaimable->cpu.value, 0);
    ASSERT_GE(told.reclaimable->memory.value, 0);
    ASSERT_GE(told.peak->cpu.value, 0);
    ASSERT_GE(told.peak->memory.value, 0);
    ASSERT_LE(told.reclaimable->cpu.value, std::max<std::int64_t>(allocatable.cpu.value, 0));
    ASSERT_LE(told.reclaimable->memory.value, std::max<std::int64_t>(allocatable.memory.value, 0));
    ASSERT_LE(told.reclaimable->cpu, told.by_class.request.cpu);
    ASSERT_LE(told.reclaimable->memory, told.by_class.request.memory);
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
