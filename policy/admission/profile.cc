#include "policy/admission/profile.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "model/names.h"

namespace tidemark::policy::admission {
namespace {

using base::cat;
using model::LabelSelector;
using model::Reason;

const Json* member_of(const Json& object, std::string_view key) {
  const Json* found = object.member(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::unexpected<Error> wrong_value(std::string_view place, std::string_view wanted, const Json& found) {
  return fail(ErrorKind::kInvalid, place, ": wanted ", wanted, ", found ", base::in_quotes(found.dump()));
}

Result<std::string> text(const Json& object, std::string_view key, std::string_view place) {
  const Json* found = member_of(object, key);
  if (found == nullptr) return std::string();
  if (!found->is_string()) return wrong_value(place, "a string", *found);
  return found->as_string();
}

Result<std::vector<TextPair>> pairs(const Json& object, std::string_view key, std::string_view place) {
  std::vector<TextPair> out;
  const Json* found = member_of(object, key);
  if (found == nullptr) return out;
  if (!found->is_object()) return wrong_value(place, "an object of strings", *found);
  for (const auto& [name, value] : found->as_object()) {
    if (!value.is_string()) return wrong_value(cat(place, ".", name), "a string", value);
    out.push_back({name, value.as_string()});
  }
  std::sort(out.begin(), out.end(), [](const TextPair& a, const TextPair& b) { return a.key < b.key; });
  return out;
}

Result<std::optional<LabelSelector>> selector(const Json& spec, std::string_view key) {
  const Json* found = member_of(spec, key);
  if (found == nullptr) return std::optional<LabelSelector>();
  auto read = LabelSelector::from_json(*found);
  if (!read) return fail(std::move(read).error().within(cat("spec.", key)));
  return std::optional<LabelSelector>(std::move(*read));
}

// As intstr reads it: a plain number, or a text with a percent sign.
void read_probability(const Json& spec, ColocationProfile& profile) {
  const Json* found = member_of(spec, "probability");
  if (found == nullptr) return;
  if (found->is_int()) {
    profile.probability_percent = found->as_int();
    return;
  }
  std::string_view word = found->get_string().value_or("");
  if (word.ends_with('%')) {
    word.remove_suffix(1);
    if (word.starts_with('+')) word.remove_prefix(1);
    profile.probability_percent = base::parse_int(word);
  }
  if (!profile.probability_percent) {
    profile.probability_problem =
        cat("spec.probability: wanted a whole number or \"N%\", found ", base::in_quotes(found->dump()));
  }
}

Result<std::optional<std::int32_t>> priority(const Json& spec) {
  const Json* found = member_of(spec, "koordinatorPriority");
  if (found == nullptr) return std::optional<std::int32_t>();
  const auto value = found->get_int();
  if (!value || *value < std::numeric_limits<std::int32_t>::min() ||
      *value > std::numeric_limits<std::int32_t>::max()) {
    return wrong_value("spec.koordinatorPriority", "a whole number of 32 bits", *found);
  }
  return std::optional(static_cast<std::int32_t>(*value));
}

// Whether the selector matches these labels; nullopt if it cannot be evaluated.
std::optional<bool> takes(const LabelSelector& selector, std::span<const model::Label> labels) {
  if (selector.problem()) return std::nullopt;
  return selector.matches(labels);
}

std::size_t cost(const std::vector<TextPair>& list) {
  std::size_t bytes = list.capacity() * sizeof(TextPair);
  for (const TextPair& pair : list) bytes += pair.key.capacity() + pair.value.capacity();
  return bytes;
}

}  // namespace

std::size_t ColocationProfile::bytes() const {
  constexpr std::size_t kSelector = 1024;  // an estimate is enough, because there are few profiles
  std::size_t bytes = 2 * kSelector + name.capacity() + probability_problem.capacity() + scheduler_name.capacity() +
                      qos_class.capacity() + priority_class_name.capacity();
  for (const auto* list : {&labels, &annotations, &label_keys_mapping, &annotation_keys_mapping, &label_suffixes}) {
    bytes += cost(*list);
  }
  return bytes + 4 * patch.dump().size();
}

std::optional<WhileOff> parse_while_off(std::string_view text) {
  if (text == "wait") return WhileOff::kWait;
  if (text == "plain") return WhileOff::kPlain;
  if (text == "refuse") return WhileOff::kRefuse;
  return std::nullopt;
}

Result<ColocationProfile> read_profile(const Json& object) {
  if (!object.is_object()) return wrong_value("profile", "an object", object);
  ColocationProfile profile;
  const Json none = Json::object();
  const Json* metadata = member_of(object, "metadata");
  if (metadata == nullptr) metadata = &none;
  if (!metadata->is_object()) return wrong_value("metadata", "an object", *metadata);
  TM_TRY(profile.name, text(*metadata, "name", "metadata.name"));
  TM_TRY(const std::string created, text(*metadata, "creationTimestamp", "metadata.creationTimestamp"));
  profile.created = base::parse_rfc3339(created);
  profile.skip_update_resources = metadata->at("annotations", model::kSkipUpdateResourcesAnnotation) != nullptr;
  profile.controller_managed = metadata->text_at("labels", model::kControllerManagedLabel) == "true";
  profile.while_off = parse_while_off(metadata->text_at("annotations", kWhileOffAnnotation));

  const Json* spec = member_of(object, "spec");
  if (spec == nullptr) spec = &none;
  if (!spec->is_object()) return wrong_value("spec", "an object", *spec);
  TM_TRY(profile.namespaces, selector(*spec, "namespaceSelector"));
  TM_TRY(profile.pods, selector(*spec, "selector"));
  read_probability(*spec, profile);
  TM_TRY(profile.labels, pairs(*spec, "labels", "spec.labels"));
  TM_TRY(profile.annotations, pairs(*spec, "annotations", "spec.annotations"));
  TM_TRY(profile.label_keys_mapping, pairs(*spec, "labelKeysMapping", "spec.labelKeysMapping"));
  TM_TRY(profile.annotation_keys_mapping, pairs(*spec, "annotationKeysMapping", "spec.annotationKeysMapping"));
  TM_TRY(profile.label_suffixes, pairs(*spec, "labelSuffixes", "spec.labelSuffixes"));
  TM_TRY(profile.scheduler_name, text(*spec, "schedulerName", "spec.schedulerName"));
  TM_TRY(profile.qos_class, text(*spec, "qosClass", "spec.qosClass"));
  TM_TRY(profile.priority_class_name, text(*spec, "priorityClassName", "spec.priorityClassName"));
  TM_TRY(profile.koordinator_priority, priority(*spec));
  if (const Json* patch = member_of(*spec, "patch")) profile.patch = *patch;
  return profile;
}

ProfileMatch match(const ColocationProfile& profile, std::span<const model::Label> pod_labels,
                   const NamespaceLabels& namespace_labels, Parity parity) {
  const bool in_doubt = parity == Parity::kKoordinator;
  ProfileMatch result{true, std::nullopt};
  if (profile.namespaces && !profile.namespaces->empty()) {
    std::optional<bool> taken;
    if (namespace_labels) taken = takes(*profile.namespaces, *namespace_labels);
    if (taken == false) return {};
    if (!taken) {
      const bool broken = profile.namespaces->problem().has_value();
      result = {in_doubt, broken ? Reason::kAdmitSelectorUnusable : Reason::kAdmitNamespaceUnknown};
    }
  }
  if (profile.pods) {
    const auto taken = takes(*profile.pods, pod_labels);
    if (taken == false) return {};
    if (!taken) result = {in_doubt && result.matched, Reason::kAdmitSelectorUnusable};
  }
  return result;
}

bool chance_applies(std::int64_t percent, int draw, Parity parity) {
  if (parity == Parity::kTidemark) return draw < percent;
  return percent != 0 && (percent == 100 || draw <= percent);
}

}  // namespace tidemark::policy::admission
