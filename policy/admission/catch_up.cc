#include "policy/admission/catch_up.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "model/names.h"
#include "policy/admission/json_patch.h"
#include "policy/admission/pod_json.h"

namespace tidemark::policy::admission {
namespace {

using base::cat;

// The same number for the same pod and profile in every replica and version.
int draw_for(std::string_view pod_uid, std::string_view profile) {
  std::uint64_t hash = base::TextHash().add(pod_uid).add("/").add(profile).value();
  hash ^= hash >> 32;  // The low bits alone are not mixed well.
  return static_cast<int>(hash % 100);
}

void suffix_once(const Json& before, Json& pod, const ColocationProfile& profile) {
  // A pod without our mark may have passed Koordinator's webhook, which leaves no mark.
  for (const TextPair& pair : profile.label_suffixes) {
    const auto held = pod_text(before, kLabels, pair.key);
    if (held && held->ends_with(pair.value)) set_pod_text(pod, kLabels, pair.key, *held);
  }
}

const Json* spec_member(const Json& pod, std::string_view key) {
  return pod.at("spec", key);
}

bool same(const Json* a, const Json* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return *a == *b;
}

constexpr std::size_t kTolerationsMax = 1'000'000;  // pairs compared; above this limit tolerations stay unchanged

// Reverts in `after` what the API server would refuse, and records its place.
class Limits {
 public:
  Limits(const Json& before, Json& after, std::vector<std::string>& left)
      : before_(before), after_(after), left_(left) {}

  void hold() {
    hold_members();
    const Json* old_spec = before_.at("spec");
    Json* spec = after_.is_object() ? after_.as_object().find("spec") : nullptr;
    if (old_spec == nullptr || !old_spec->is_object() || spec == nullptr || !spec->is_object()) {
      if (!same(old_spec, spec)) put_back("spec", old_spec);
      return;
    }
    for (const auto& key : keys_of(*old_spec, *spec)) {
      const Json* was = old_spec->member(key);
      const Json* is = spec->member(key);
      if (same(was, is)) continue;
      if (key == "activeDeadlineSeconds" && was == nullptr) continue;
      if (key == "tolerations" && only_added(was, *is)) continue;
      if ((key == "containers" || key == "initContainers") && only_images(was, is, key)) continue;
      restore(*spec, key, was);
      left_.push_back(cat("spec.", key));
    }
  }

 private:
  static std::vector<std::string> keys_of(const Json& a, const Json& b) {
    std::vector<std::string> keys;
    for (const Json* each : {&a, &b}) {
      for (const auto& [key, value] : each->as_object()) keys.push_back(key);
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
  }

  static void restore(Json& object, std::string_view key, const Json* was) {
    if (was == nullptr) {
      object.as_object().erase(key);
    } else {
      object[key] = *was;
    }
  }

  void put_back(std::string_view key, const Json* was) {
    restore(after_, key, was);
    left_.emplace_back(key);
  }

  // Only metadata.labels, metadata.annotations and the spec of the pod may change.
  void hold_members() {
    for (const auto& key : keys_of(before_, after_)) {
      if (key == "metadata" || key == "spec") continue;
      if (!same(before_.member(key), after_.member(key))) put_back(key, before_.member(key));
    }
    const Json* was = before_.member("metadata");
    Json* metadata = after_.as_object().find("metadata");
    if (was == nullptr || !was->is_object() || metadata == nullptr || !metadata->is_object()) return;
    for (const auto& key : keys_of(*was, *metadata)) {
      if (key == kLabels || key == kAnnotations || same(was->member(key), metadata->member(key))) continue;
      restore(*metadata, key, was->member(key));
      left_.push_back(cat("metadata.", key));
    }
  }

  static bool only_added(const Json* was, const Json& is) {
    if (!is.is_array()) return false;
    if (was == nullptr) return true;
    if (!was->is_array() || was->as_array().size() > kTolerationsMax / (is.as_array().size() + 1)) return false;
    return std::all_of(was->as_array().begin(), was->as_array().end(), [&](const Json& each) {
      return std::find(is.as_array().begin(), is.as_array().end(), each) != is.as_array().end();
    });
  }

  // Images of existing containers may change. Every other difference is reverted, container by container.
  bool only_images(const Json* was, const Json* is, std::string_view key) {
    if (was == nullptr || is == nullptr || !was->is_array() || !is->is_array() ||
        was->as_array().size() != is->as_array().size()) {
      return false;
    }
    Json list = *was;
    bool all = true;
    for (std::size_t i = 0; i < list.as_array().size(); ++i) {
      Json& container = list.as_array()[i];
      const Json& wanted = is->as_array()[i];
      if (container.text_at("name") != wanted.text_at("name")) return false;
      if (const Json* image = wanted.member("image")) container["image"] = *image;
      all = all && container == wanted;
    }
    if (!all) left_.push_back(cat("spec.", key));
    after_["spec"][key] = std::move(list);
    return true;
  }

  const Json& before_;
  Json& after_;
  std::vector<std::string>& left_;
};

bool stays_plain(const CatchUpInput& input, const ColocationProfile& profile, const Json& pod) {
  if (!input.off || profile.while_off.value_or(input.while_off) == WhileOff::kWait) return false;
  Json would = pod;
  apply_metadata(would, profile);
  return is_offline(pod_classes(would)) && !is_offline(pod_classes(pod));
}

void name_what_is_left(const Json& pod, const ColocationProfile& profile, std::vector<std::string>& left) {
  const auto differs = [&](std::string_view key, std::string_view wanted) {
    const Json* held = spec_member(pod, key);
    return !wanted.empty() && (held == nullptr || held->get_string() != wanted);
  };
  if (differs("schedulerName", profile.scheduler_name)) left.emplace_back("spec.schedulerName");
  if (differs("priorityClassName", profile.priority_class_name)) left.emplace_back("spec.priorityClassName");
}

}  // namespace

bool may_catch_up(const Json& pod) {
  return pod.text_at("status", "phase") == "Pending" && pod.text_at("spec", "nodeName").empty() &&
         pod.text_at("metadata", "deletionTimestamp").empty();
}

bool catches_up(const ColocationProfile& profile, std::span<const model::Label> pod_labels,
                const NamespaceLabels& namespace_labels, std::optional<base::WallTime> pod_created,
                std::string_view pod_uid, Parity parity) {
  if (!profile.pods && (parity == Parity::kKoordinator || !profile.namespaces)) return false;
  const ProfileMatch result = match(profile, pod_labels, namespace_labels, Parity::kTidemark);
  if (!result.matched || !profile.probability_problem.empty()) return false;
  const bool older = profile.created && pod_created && *pod_created < *profile.created;
  if (older && !profile.controller_managed) return false;
  return !profile.probability_percent ||
         chance_applies(*profile.probability_percent, draw_for(pod_uid, profile.name), parity);
}

CatchUp catch_up(const CatchUpInput& input) {
  CatchUp result;
  if (!may_catch_up(input.pod)) return result;
  const auto labels = pod_labels(input.pod);
  const auto created = base::parse_rfc3339(input.pod.text_at("metadata", "creationTimestamp"));
  const auto uid = input.pod.text_at("metadata", "uid");
  ProfileMark mark = read_mark(pod_text(input.pod, kAnnotations, model::kProfilesAnnotation).value_or(""));

  std::vector<const ColocationProfile*> matched;
  for (const ColocationProfile* profile : input.profiles) {
    if (!mark.knows(profile->name) &&
        catches_up(*profile, labels, input.namespace_labels, created, uid, input.parity)) {
      matched.push_back(profile);
    }
  }
  std::sort(matched.begin(), matched.end(), [](const auto* a, const auto* b) { return a->name < b->name; });

  Json pod = input.pod;
  bool marked = false;
  for (const ColocationProfile* profile : matched) {
    if (stays_plain(input, *profile, pod)) continue;
    const Json before = pod;
    apply_metadata(pod, *profile);
    suffix_once(before, pod, *profile);
    name_what_is_left(pod, *profile, result.left);
    if (!profile->patch.is_null()) {
      Json patched = pod;
      if (input.merge(patched, profile->patch) && check_pod(patched) && patched.is_object()) {
        Limits(pod, patched, result.left).hold();
        pod = std::move(patched);
      } else {
        result.left.emplace_back("spec.patch of the profile");
      }
    }
    if (!(pod == before)) result.applied.push_back(profile->name);
    if (!leaves_a_mark(*profile)) continue;
    mark.applied.push_back(profile->name);
    marked = true;
  }
  if (marked) {
    set_pod_text(pod, kAnnotations, model::kProfilesAnnotation, write_mark(mark));
  }
  std::sort(result.left.begin(), result.left.end());
  result.left.erase(std::unique(result.left.begin(), result.left.end()), result.left.end());
  if (!(pod == input.pod)) result.patch = merge_patch(input.pod, pod);
  return result;
}

}  // namespace tidemark::policy::admission
