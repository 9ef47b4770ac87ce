// Any JSON is a pod or is refused with a reason. A pod can be mutated, validated and caught up with, and stays a pod.
// The input: a pod, a zero byte, a profile.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "policy/admission/catch_up.h"
#include "policy/admission/mutate.h"
#include "policy/admission/pod_json.h"
#include "policy/admission/testing/merge.h"
#include "policy/admission/validate_pod.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace policy = tidemark::policy;
  using tidemark::Json;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto zero = text.find('\0');
  const auto pod = Json::parse(text.substr(0, zero));
  if (!pod || !policy::admission::check_pod(*pod)) return 0;
  std::vector<policy::admission::ColocationProfile> profiles;
  if (zero != std::string_view::npos) {
    if (const auto object = Json::parse(text.substr(zero + 1))) {
      if (auto read = policy::admission::read_profile(*object)) profiles.push_back(std::move(*read));
    }
  }
  std::vector<const policy::admission::ColocationProfile*> list;
  for (const auto& profile : profiles) list.push_back(&profile);
  const std::vector<int> draws(list.size(), static_cast<int>(size % 100));
  policy::admission::AdmissionRules rules;
  rules.parity = size % 2 == 0 ? policy::admission::Parity::kKoordinator : policy::admission::Parity::kTidemark;
  const policy::admission::MergeIntoPod merge = policy::testing::merge_simply;
  const auto mutation = policy::admission::mutate_pod(
      rules, {*pod,
              {},
              list,
              draws,
              size % 3 == 0,
              [](std::string_view) { return policy::admission::PriorityClassValue{5000, ""}; },
              merge});
  if (mutation) {
    TM_CHECK(policy::admission::check_pod(mutation->pod), "a mutated pod is a pod");
    TM_CHECK(mutation->patch.as_array().empty() == (mutation->pod == *pod), "the patch contains every change");
    policy::admission::validate_pod(rules, {mutation->pod, &*pod, "default", {}, list, merge, nullptr});
  }
  const auto done = policy::admission::catch_up({*pod, {}, list, rules.parity, merge});
  TM_CHECK(done.patch.is_null() || done.patch.is_object(), "a merge patch");
  return 0;
}
