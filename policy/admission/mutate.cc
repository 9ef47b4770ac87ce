#include "policy/admission/mutate.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/names.h"
#include "policy/admission/json_patch.h"
#include "policy/admission/pod_json.h"
#include "policy/admission/translate.h"

namespace tidemark::policy::admission {
namespace {

using base::cat;
using model::Reason;

constexpr std::int64_t kMarkSchema = 1;

struct Matched {
  const ColocationProfile* profile = nullptr;
  int draw = 0;
};

std::unexpected<Refusal> refuse(Reason reason, int http_code, std::string_view profile, std::string detail) {
  return std::unexpected(Refusal{reason, http_code, std::string(profile), std::move(detail)});
}

std::vector<Matched> matching(const AdmissionRules& rules, const MutationInput& input,
                              std::vector<AdmissionNote>& notes) {
  const auto labels = pod_labels(input.pod);
  std::vector<Matched> found;
  for (std::size_t i = 0; i < input.profiles.size(); ++i) {
    const ColocationProfile& profile = *input.profiles[i];
    const ProfileMatch result = match(profile, labels, input.namespace_labels, rules.parity);
    if (result.trouble) {
      notes.push_back({*result.trouble, profile.name, result.matched ? "it counts as matching" : "it is left out"});
    }
    if (result.matched) found.push_back({&profile, i < input.draws.size() ? input.draws[i] : 0});
  }
  std::sort(found.begin(), found.end(),
            [](const Matched& a, const Matched& b) { return a.profile->name < b.profile->name; });
  return found;
}

void map_keys(Json& pod, std::string_view map, const std::vector<TextPair>& mapping) {
  for (const TextPair& pair : mapping) {
    const std::string value(pod_text(pod, map, pair.key).value_or(""));
    set_pod_text(pod, map, pair.value, value);
  }
}

std::expected<void, Refusal> apply_profile(const MutationInput& input, const ColocationProfile& profile, Json& pod) {
  apply_metadata(pod, profile);
  if (!profile.scheduler_name.empty()) pod["spec"]["schedulerName"] = Json(profile.scheduler_name);
  if (!profile.priority_class_name.empty()) {
    const auto found = input.priority_class(profile.priority_class_name);
    if (!found) {
      return refuse(Reason::kAdmitPriorityClassMissing, 500, profile.name, profile.priority_class_name);
    }
    Json& spec = pod["spec"];
    spec["priorityClassName"] = Json(profile.priority_class_name);
    spec["priority"] = Json(std::int64_t{found->value});
    if (!found->preemption_policy.empty()) spec["preemptionPolicy"] = Json(found->preemption_policy);
  }
  if (!profile.patch.is_null()) {
    if (auto merged = input.merge(pod, profile.patch); !merged) {
      return refuse(Reason::kAdmitPatchUnfit, 500, profile.name, merged.error().message);
    }
    if (auto fine = check_pod(pod); !fine) {
      return refuse(Reason::kAdmitPatchUnfit, 500, profile.name, fine.error().message);
    }
  }
  return {};
}

void translate(const AdmissionRules& rules, const std::vector<Matched>& matched, Mutation& mutation) {
  // Trap: for Koordinator it is enough that a profile matched, even if chance left it out.
  const bool applied = !mutation.applied.empty();
  const bool wanted = rules.parity == Parity::kKoordinator && !mutation.off_decided ? !matched.empty() : applied;
  if (!wanted || !rules.translate_resources) return;
  for (const Matched& each : matched) {
    if (each.profile->skip_update_resources) return;
  }
  const auto priority = pod_classes(mutation.pod).priority;
  // Trap: an overhead must equal its RuntimeClass's exactly; the API server refuses a pod whose overhead was
  // translated.
  translate_resources(mutation.pod, priority, rules.parity == Parity::kKoordinator);
  const Json* level = mutation.pod.at("spec", "resources");
  const bool offline = priority == model::PriorityClass::kBatch || priority == model::PriorityClass::kMid;
  if (offline && level != nullptr && level->is_object() && !level->as_object().empty()) {
    mutation.notes.push_back({Reason::kAdmitPodLevelResources, "", "spec.resources"});
  }
}

// Returns whether it changed anything.
bool annotate(Json& pod) {
  const std::string spec = extended_resource_spec(pod);
  const auto held = pod_text(pod, kAnnotations, model::kExtendedResourceSpecAnnotation);
  if (spec.empty() && !held) return false;
  const std::string wanted = spec.empty() ? "{}" : spec;  // A pod that requests none does not get the annotation.
  const auto same = held ? Json::parse(*held) : Result<Json>(Json());
  if (held && same && *same == *Json::parse(wanted)) return false;
  set_pod_text(pod, kAnnotations, model::kExtendedResourceSpecAnnotation, wanted);
  return true;
}

std::expected<void, Refusal> apply_matched(const AdmissionRules& rules, const MutationInput& input,
                                           const std::vector<Matched>& matched, Mutation& mutation) {
  ProfileMark mark;
  for (const auto& [profile, draw] : matched) {
    if (!profile->probability_problem.empty()) {
      if (rules.parity == Parity::kKoordinator) {
        return refuse(Reason::kAdmitProbabilityUnreadable, 500, profile->name, profile->probability_problem);
      }
      mutation.notes.push_back({Reason::kAdmitProbabilityUnreadable, profile->name, profile->probability_problem});
      continue;
    }
    if (profile->probability_percent && !chance_applies(*profile->probability_percent, draw, rules.parity)) {
      mutation.skipped.push_back(profile->name);
      if (*profile->probability_percent > 0) mark.skipped.push_back(profile->name);  // probability 0 is never drawn
      continue;
    }
    const WhileOff while_off = profile->while_off.value_or(rules.while_off);
    const bool may_undo = input.off && while_off != WhileOff::kWait;
    Json before = may_undo ? mutation.pod : Json();
    if (auto done = apply_profile(input, *profile, mutation.pod); !done) return done;
    if (may_undo && is_offline(pod_classes(mutation.pod))) {
      mutation.off_decided = true;
      if (while_off == WhileOff::kRefuse)
        return refuse(Reason::kAdmitOff, 403, profile->name, std::string(input.off_because));
      mutation.pod = std::move(before);
      mutation.skipped.push_back(profile->name);
      mark.skipped.push_back(profile->name);
      continue;
    }
    mutation.applied.push_back(profile->name);
    if (leaves_a_mark(*profile)) mark.applied.push_back(profile->name);
  }
  if (!mark.applied.empty() || !mark.skipped.empty()) {
    set_pod_text(mutation.pod, kAnnotations, model::kProfilesAnnotation, write_mark(mark));
  }
  return {};
}

}  // namespace

void apply_metadata(Json& pod, const ColocationProfile& profile) {
  for (const TextPair& pair : profile.labels) set_pod_text(pod, kLabels, pair.key, pair.value);
  for (const TextPair& pair : profile.annotations) set_pod_text(pod, kAnnotations, pair.key, pair.value);
  map_keys(pod, kLabels, profile.label_keys_mapping);
  map_keys(pod, kAnnotations, profile.annotation_keys_mapping);
  for (const TextPair& pair : profile.label_suffixes) {
    const auto held = pod_text(pod, kLabels, pair.key);
    if (held) set_pod_text(pod, kLabels, pair.key, cat(*held, pair.value));
  }
  if (!profile.qos_class.empty()) set_pod_text(pod, kLabels, model::kQosClassLabel, profile.qos_class);
  if (profile.koordinator_priority) {
    set_pod_text(pod, kLabels, model::kPriorityLabel, cat(*profile.koordinator_priority));
  }
}

std::expected<Mutation, Refusal> mutate_pod(const AdmissionRules& rules, const MutationInput& input) {
  Mutation mutation;
  mutation.pod = input.pod;
  const auto matched = matching(rules, input, mutation.notes);
  if (auto done = apply_matched(rules, input, matched, mutation); !done) {
    return std::unexpected(std::move(done).error());
  }
  translate(rules, matched, mutation);
  const bool annotated = rules.extended_resource_spec && annotate(mutation.pod);
  if (matched.empty() && !annotated) {
    mutation.patch = Json::array();
  } else {
    mutation.patch = json_patch(input.pod, mutation.pod, &mutation.diff_steps);
  }
  return mutation;
}

bool ProfileMark::knows(std::string_view profile) const {
  const auto in = [profile](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), profile) != names.end();
  };
  return in(applied) || in(skipped);
}

bool leaves_a_mark(const ColocationProfile& profile) {
  return !profile.label_suffixes.empty() || !profile.label_keys_mapping.empty() ||
         !profile.annotation_keys_mapping.empty() || !profile.patch.is_null();
}

std::string write_mark(const ProfileMark& mark) {
  Json json = Json::object({{"schema", kMarkSchema}});
  const auto put = [&](std::string_view key, const std::vector<std::string>& names) {
    if (names.empty()) return;
    Json::Array list;
    for (const auto& name : names) list.emplace_back(name);
    json[key] = std::move(list);
  };
  put("applied", mark.applied);
  put("skipped", mark.skipped);
  return json.dump();
}

ProfileMark read_mark(std::string_view text) {
  ProfileMark mark;
  const auto json = Json::parse(text);
  if (!json) return mark;
  const auto take = [&](std::string_view key, std::vector<std::string>& names) {
    const Json* list = json->member(key);
    if (list == nullptr || !list->is_array()) return;
    for (const Json& name : list->as_array()) {
      if (name.is_string()) names.push_back(name.as_string());
    }
  };
  take("applied", mark.applied);
  take("skipped", mark.skipped);
  return mark;
}

}  // namespace tidemark::policy::admission
