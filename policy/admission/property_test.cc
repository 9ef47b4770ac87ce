// What holds for every pod and every profile, on many random ones (from fixed seeds).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "model/names.h"
#include "policy/admission/catch_up.h"
#include "policy/admission/json_patch.h"
#include "policy/admission/mutate.h"
#include "policy/admission/pod_json.h"
#include "policy/admission/testing/merge.h"
#include "policy/admission/validate_pod.h"

namespace tidemark::policy::admission {
namespace {

using base::cat;

constexpr int kRounds = 3000;
constexpr std::size_t kManyMembers = 100'000;
constexpr std::size_t kFewSteps = 150 * kManyMembers;  // two sorts, two look-ups each; by pairs 5,000,000,000

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t bound) { return random_.below(bound); }
  bool perhaps() { return below(2) == 0; }
  template <class... Words>
  std::string one_of(Words... words) {
    const std::string list[] = {words...};
    return list[below(sizeof...(Words))];
  }

  Json texts(std::size_t max) {
    Json map = Json::object();
    for (std::size_t i = below(max + 1); i > 0; --i) map[word()] = Json(word());
    return map;
  }
  std::string word() { return one_of("app", "team", "a/b", "x~y", "koordinator.sh/qosClass", "note", "BE", "spark"); }

  Json pod() {
    Json pod = Json::object();
    pod["metadata"] = Json::object({{"name", "p"}, {"uid", Json(cat(below(1000)))}});
    if (perhaps()) pod["metadata"]["labels"] = texts(4);
    if (perhaps()) pod["metadata"]["annotations"] = texts(3);
    Json spec = Json::object();
    if (perhaps()) spec["priority"] = Json(static_cast<std::int64_t>(below(10)) * 1000);
    spec["schedulerName"] = Json("default-scheduler");
    for (const auto key : {"containers", "initContainers"}) {
      Json::Array list;
      for (std::size_t i = below(3); i > 0; --i) list.push_back(container(cat(key, i)));
      if (!list.empty() || perhaps()) spec[key] = std::move(list);
    }
    if (below(4) == 0) spec["overhead"] = Json::object({{"cpu", "100m"}});
    pod["spec"] = std::move(spec);
    pod["status"] = Json::object({{"phase", Json(one_of("Pending", "Pending", "Running"))}});
    return pod;
  }

  Json profile(std::string name) {
    Json spec = Json::object();
    if (perhaps()) spec["selector"] = Json::object({{"matchLabels", texts(1)}});
    if (below(3) == 0) spec["namespaceSelector"] = Json::object({{"matchLabels", texts(1)}});
    if (below(3) == 0) spec["probability"] = Json(static_cast<std::int64_t>(below(102)));
    if (perhaps()) spec["labels"] = texts(2);
    if (perhaps()) spec["annotations"] = texts(2);
    if (perhaps()) spec["qosClass"] = Json(one_of("BE", "LS", "LSR"));
    if (perhaps()) spec["priorityClassName"] = Json(one_of("koord-batch", "koord-mid", "koord-prod", "koord-free"));
    if (below(3) == 0) spec["koordinatorPriority"] = Json(7);
    if (below(3) == 0) spec["schedulerName"] = "koord-scheduler";
    if (below(4) == 0) spec["labelKeysMapping"] = texts(2);
    if (below(4) == 0) spec["labelSuffixes"] = texts(2);
    if (below(4) == 0) spec["patch"] = Json::object({{"spec", Json::object({{"hostNetwork", true}})}});
    Json object = Json::object({{"spec", std::move(spec)}});
    object["metadata"] = Json::object({{"name", Json(std::move(name))}});
    return object;
  }

 private:
  Json container(std::string name) {
    Json resources = Json::object();
    for (const auto list : {"requests", "limits"}) {
      if (perhaps()) continue;
      Json amounts = Json::object();
      if (perhaps()) amounts["cpu"] = Json(one_of("1", "250m", "1.5", "3"));
      if (perhaps()) amounts["memory"] = Json(one_of("1Gi", "512Mi", "1000000"));
      if (below(5) == 0) amounts["kubernetes.io/batch-cpu"] = "500";
      resources[list] = std::move(amounts);
    }
    Json made = Json::object({{"name", Json(std::move(name))}});
    if (!resources.as_object().empty()) made["resources"] = std::move(resources);
    return made;
  }

  base::Random random_;
};

std::optional<PriorityClassValue> priority_class(std::string_view name) {
  const auto parsed = model::parse_priority_class(name);
  return PriorityClassValue{model::default_priority(parsed), "PreemptLowerPriority"};
}

struct Stage {
  Json pod;
  std::vector<ColocationProfile> profiles;
  std::vector<model::Label> namespace_labels;
  std::vector<int> draws;
  AdmissionRules rules;
  bool off = false;

  std::vector<const ColocationProfile*> pointers() const {
    std::vector<const ColocationProfile*> list;
    for (const auto& profile : profiles) list.push_back(&profile);
    return list;
  }
  std::expected<Mutation, Refusal> mutate(const Json& from) const {
    const auto list = pointers();
    return mutate_pod(
        rules, {from, NamespaceLabels(namespace_labels), list, draws, off, priority_class, testing::merge_simply});
  }
};

Stage make_stage(Maker& maker) {
  Stage stage;
  stage.pod = maker.pod();
  for (std::size_t i = maker.below(4); i > 0; --i) stage.profiles.push_back(*read_profile(maker.profile(cat("p", i))));
  for (std::size_t i = 0; i < stage.profiles.size(); ++i) stage.draws.push_back(static_cast<int>(maker.below(100)));
  const Json labels = maker.texts(2);
  for (const auto& [key, value] : labels.as_object()) stage.namespace_labels.push_back({key, value.as_string()});
  stage.rules.parity = maker.perhaps() ? Parity::kKoordinator : Parity::kTidemark;
  stage.off = maker.below(4) == 0;
  stage.rules.while_off = static_cast<WhileOff>(maker.below(3));
  return stage;
}

// RFC 6902; our patches use only add, remove and replace.
void apply(Json& target, const Json& operation) {
  std::vector<std::string> steps;
  const auto parts = base::split(operation.text_at("path"), '/');
  for (auto part = parts.begin() + 1; part != parts.end(); ++part) {
    std::string step;
    for (std::size_t i = 0; i < part->size(); ++i) {
      const bool escaped = (*part)[i] == '~';
      step += escaped ? ((*part)[i + 1] == '0' ? '~' : '/') : (*part)[i];
      if (escaped) ++i;
    }
    steps.push_back(std::move(step));
  }
  Json* at = &target;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    at = at->is_array() ? &at->as_array()[static_cast<std::size_t>(*base::parse_int(steps[i]))]
                        : at->as_object().find(steps[i]);
    ASSERT_NE(at, nullptr) << operation.dump();
  }
  const std::string_view op = operation.text_at("op");
  if (at->is_array()) {
    ASSERT_EQ(op, "replace");
    at->as_array()[static_cast<std::size_t>(*base::parse_int(steps.back()))] = *operation.at("value");
    return;
  }
  ASSERT_EQ(at->as_object().contains(steps.back()), op != "add") << operation.dump();
  if (op == "remove") {
    at->as_object().erase(steps.back());
  } else {
    (*at)[steps.back()] = *operation.at("value");
  }
}

TEST(AdmissionProperties, PatchGivesThePodAndLosesNothing) {
  Maker maker(1);
  int applied = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Stage stage = make_stage(maker);
    ASSERT_TRUE(check_pod(stage.pod)) << stage.pod.dump();
    const auto mutation = stage.mutate(stage.pod);
    if (!mutation) continue;
    Json patched = stage.pod;
    for (const Json& operation : mutation->patch.as_array()) apply(patched, operation);
    ASSERT_EQ(patched, mutation->pod) << mutation->patch.dump();
    ASSERT_TRUE(check_pod(patched));
    applied += mutation->applied.empty() ? 0 : 1;
    for (const auto place : {"status"}) EXPECT_EQ(*patched.at(place), *stage.pod.at(place));
    EXPECT_EQ(patched.text_at("metadata", "name"), "p");
    if (mutation->applied.empty() && mutation->skipped.empty()) {
      EXPECT_TRUE(json_patch(*stage.pod.at("spec"), *patched.at("spec")).as_array().empty());
    }
  }
  EXPECT_GT(applied, kRounds / 10);
}

TEST(AdmissionProperties, OrderOfProfilesDoesNotMatter) {
  Maker maker(2);
  for (int round = 0; round < kRounds; ++round) {
    Stage stage = make_stage(maker);
    const auto one = stage.mutate(stage.pod);
    std::reverse(stage.profiles.begin(), stage.profiles.end());
    std::reverse(stage.draws.begin(), stage.draws.end());
    const auto other = stage.mutate(stage.pod);
    ASSERT_EQ(one.has_value(), other.has_value());
    if (one) {
      ASSERT_EQ(one->pod.dump(), other->pod.dump());
    }
  }
}

// Renaming a resource does not change the total that a pod requests.
TEST(AdmissionProperties, TranslationKeepsAmounts) {
  Maker maker(3);
  int translated = 0;
  for (int round = 0; round < kRounds; ++round) {
    Stage stage = make_stage(maker);
    for (auto& profile : stage.profiles) profile.patch = nullptr;
    const auto mutation = stage.mutate(stage.pod);
    if (!mutation) continue;
    const auto before = pod_request(stage.pod, "cpu");
    const auto after = pod_request(mutation->pod, "cpu");
    if (before == after) continue;
    ++translated;
    const auto extended =
        std::max(pod_request(mutation->pod, model::kBatchCpu), pod_request(mutation->pod, model::kMidCpu));
    EXPECT_GE(extended.scaled_value_saturated(0), before.scaled_value_saturated(-3) - after.scaled_value_saturated(-3))
        << stage.pod.dump() << mutation->pod.dump();
    for (const auto& each :
         validate_pod(stage.rules, {mutation->pod, nullptr, "", std::nullopt, {}, testing::merge_simply, nullptr})) {
      EXPECT_FALSE(each.field.empty() || each.wanted.empty());
    }
  }
  EXPECT_GT(translated, kRounds / 50);
}

TEST(AdmissionProperties, ApplyingTwiceEqualsOnceUnlessMarked) {
  Maker maker(4);
  for (int round = 0; round < kRounds; ++round) {
    Stage stage = make_stage(maker);
    // A profile must not set what its selector reads, or the second pass would differ.
    for (auto& profile : stage.profiles) {
      profile.pods.reset();
      profile.namespaces.reset();
      profile.probability_percent.reset();
    }
    std::erase_if(stage.profiles, [](const auto& profile) { return leaves_a_mark(profile); });
    stage.off = false;
    const auto once = stage.mutate(stage.pod);
    ASSERT_TRUE(once);
    const auto twice = stage.mutate(once->pod);
    ASSERT_TRUE(twice);
    EXPECT_EQ(twice->patch.dump(), "[]") << stage.pod.dump();
  }
}

TEST(AdmissionProperties, WebhookLeavesNothingToCatchUp) {
  Maker maker(5);
  int looked = 0;
  for (int round = 0; round < kRounds; ++round) {
    Stage stage = make_stage(maker);
    for (auto& profile : stage.profiles) profile.pods = model::LabelSelector::everything();
    if (stage.profiles.size() > 1) stage.profiles.resize(1);  // the second profile would always overwrite the first
    const auto mutation = stage.mutate(stage.pod);
    if (!mutation) continue;
    const auto list = stage.pointers();
    const auto done = catch_up(
        {mutation->pod, NamespaceLabels(stage.namespace_labels), list, stage.rules.parity, testing::merge_simply});
    // A profile of probability 0 % draws nothing, and is not drawn later either.
    EXPECT_TRUE(done.patch.is_null()) << mutation->pod.dump() << done.patch.dump();
    ++looked;
  }
  EXPECT_GT(looked, kRounds / 2);
}

TEST(AdmissionProperties, CatchUpRunsOnceAndChangesOnlyMutableFields) {
  Maker maker(6);
  int changed = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Stage stage = make_stage(maker);
    const auto list = stage.pointers();
    const auto done =
        catch_up({stage.pod, NamespaceLabels(stage.namespace_labels), list, stage.rules.parity, testing::merge_simply});
    if (done.patch.is_null()) continue;
    ++changed;
    EXPECT_EQ(stage.pod.text_at("status", "phase"), "Pending");
    for (const auto& [key, value] : done.patch.as_object()) EXPECT_EQ(key, "metadata") << done.patch.dump();
    Json pod = stage.pod;
    ASSERT_TRUE(testing::merge_simply(pod, done.patch));
    // The rules on changes allow the reconciler's own changes.
    for (const auto& each : validate_pod(stage.rules, {pod, &stage.pod, "", NamespaceLabels(stage.namespace_labels),
                                                       list, testing::merge_simply, nullptr})) {
      EXPECT_NE(each.reason, model::Reason::kPodQosImmutable) << stage.pod.dump() << done.patch.dump();
    }
  }
  EXPECT_GT(changed, kRounds / 20);
}

TEST(AdmissionProperties, ChanceIsExactWithTidemarkAndOneTooManyWithKoordinator) {
  for (std::int64_t percent = 0; percent <= 100; ++percent) {
    int ours = 0;
    int peers = 0;
    for (int draw = 0; draw < 100; ++draw) {
      ours += chance_applies(percent, draw, Parity::kTidemark) ? 1 : 0;
      peers += chance_applies(percent, draw, Parity::kKoordinator) ? 1 : 0;
    }
    EXPECT_EQ(ours, percent);
    EXPECT_EQ(peers, percent == 0 ? 0 : std::min<std::int64_t>(percent + 1, 100));
  }
}

Json with_many_annotations(bool backwards) {
  base::JsonObject annotations;
  for (std::size_t i = 0; i < kManyMembers; ++i) {
    annotations.append_unchecked(cat("k", backwards ? kManyMembers - i : i), "v");
  }
  Json pod = Json::object({{"metadata", Json::object({{"name", "p"}})}, {"spec", Json::object()}});
  pod["metadata"]["annotations"] = std::move(annotations);
  return pod;
}

// The author of a pod decides its size: no cost may grow with its square.
TEST(AdmissionProperties, ManyAnnotationsTakeFewStepsEach) {
  std::size_t steps = 0;
  const Json there = with_many_annotations(false);
  const Json other = with_many_annotations(true);  // one name differs at either end
  EXPECT_EQ(json_patch(there, other, &steps).as_array().size(), 2U);
  EXPECT_GT(steps, 0U);
  EXPECT_LT(steps, kFewSteps);
  steps = 0;
  const Json merge = merge_patch(there, other, &steps);
  EXPECT_LT(steps, kFewSteps);
  EXPECT_EQ(merge.dump(), cat(R"({"metadata":{"annotations":{"k0":null,"k)", kManyMembers, R"(":"v"}}})"));

  ColocationProfile profile;
  profile.name = "a";
  profile.labels.push_back({"colo", "yes"});
  const ColocationProfile* const list[] = {&profile};
  const int draws[] = {0};
  const auto mutate = [&](std::span<const ColocationProfile* const> profiles) {
    return mutate_pod({}, {.pod = there,
                           .namespace_labels = std::nullopt,
                           .profiles = profiles,
                           .draws = draws,
                           .priority_class = [](std::string_view) { return std::nullopt; },
                           .merge = testing::merge_simply});
  };
  const auto changed = mutate(list);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->patch.as_array().size(), 1U);
  EXPECT_LT(changed->diff_steps, kFewSteps);
  const auto left = mutate({});
  ASSERT_TRUE(left);
  EXPECT_TRUE(left->patch.as_array().empty());
  EXPECT_EQ(left->diff_steps, 0U) << "nothing was changed, so nothing is compared";
}

TEST(AdmissionProperties, RefusesPodWithTooManyMembers) {
  Json pod = with_many_annotations(false);
  EXPECT_TRUE(check_pod(pod));
  for (int i = 0; i < 1001; ++i) pod["spec"][cat("m", i)] = i;
  const auto checked = check_pod(pod);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("spec: 1001 members"), std::string::npos) << checked.error().message;
}

}  // namespace
}  // namespace tidemark::policy::admission
