#include "policy/admission/validate_pod.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "model/names.h"
#include "policy/admission/catch_up.h"
#include "policy/admission/pod_json.h"

namespace tidemark::policy::admission {
namespace {

using base::cat;
using model::PriorityClass;
using model::Qos;
using model::Reason;

std::string label_field(std::string_view key) {
  return cat("metadata.labels[", key, "]");
}

std::string_view name_of(PriorityClass priority) {
  return priority == PriorityClass::kNone ? "none" : model::to_string(priority);
}

bool forbidden(Qos qos, PriorityClass priority) {
  if (qos == Qos::kBe) return priority == PriorityClass::kNone || priority == PriorityClass::kProd;
  if (qos == Qos::kLsr) return priority != PriorityClass::kProd;
  return false;
}

void check_classes(const Json& pod, std::vector<PodViolation>& found) {
  const PodClasses classes = pod_classes(pod);
  for (const auto resource : {model::kBatchCpu, model::kBatchMemory}) {
    const auto request = pod_request(pod, resource);
    if (request.sign() <= 0 || classes.raw_qos == Qos::kBe) continue;
    found.push_back({Reason::kPodBatchNeedsBe, label_field(model::kQosClassLabel),
                     std::string(model::to_string(classes.raw_qos)),
                     cat("BE, because the pod requests ", request.canonical(), " of ", resource)});
    break;
  }
  if (forbidden(classes.raw_qos, classes.raw_priority)) {
    found.push_back({Reason::kPodQosForbidsPriority, "spec.priority", std::string(name_of(classes.raw_priority)),
                     classes.raw_qos == Qos::kBe ? "with QoS class BE: koord-mid, koord-batch or koord-free"
                                                 : "with QoS class LSR: koord-prod"});
  }
  if (classes.raw_qos == Qos::kLsr || classes.raw_qos == Qos::kLse) {
    const auto cpu = pod_request(pod, "cpu");
    constexpr std::string_view kField = "spec.containers[*].resources.requests.cpu";
    if (cpu.sign() <= 0) {
      found.push_back({Reason::kPodCpuMissing, std::string(kField), "", "a whole number of CPUs, in sum"});
    } else if (auto whole = cpu; !whole.round_up(0)) {
      found.push_back(
          {Reason::kPodCpuNotWhole, std::string(kField), cpu.canonical(), "a whole number of CPUs, in sum"});
    }
  }
}

void check_annotations(const Json& pod, std::vector<PodViolation>& found) {
  if (const auto held = pod_text(pod, kAnnotations, model::kReservePodAnnotation)) {
    found.push_back({Reason::kPodReserveAnnotation, cat("metadata.annotations[", model::kReservePodAnnotation, "]"),
                     std::string(*held), "no annotation"});
  }
}

void check_required_labels(const ValidationInput& input, const Json& pod, std::vector<PodViolation>& found) {
  if (input.enhanced == nullptr || !input.enhanced->enable) return;
  if (pod_text(pod, kLabels, model::kSkipEnhancedValidationLabel)) return;
  for (const RequiredLabels& rule : input.enhanced->rules) {
    const auto& exempt = rule.exempt_namespaces;
    if (std::find(exempt.begin(), exempt.end(), input.namespace_name) != exempt.end()) continue;
    for (const auto& label : rule.labels) {
      if (pod_text(pod, kLabels, label)) continue;
      found.push_back(
          {Reason::kPodLabelRequired, label_field(label), "", cat("a value, by rule ", base::in_quotes(rule.name))});
    }
  }
}

std::vector<PodViolation> check(const ValidationInput& input, const Json& pod) {
  std::vector<PodViolation> found;
  check_annotations(pod, found);
  check_classes(pod, found);
  check_required_labels(input, pod, found);
  return found;
}

// The labels that the reconciler would set: a change to these is allowed from any client.
class Expected {
 public:
  explicit Expected(const ValidationInput& input, Parity parity) {
    if (input.before == nullptr || input.profiles.empty() || !may_catch_up(*input.before)) return;
    const CatchUp done = catch_up({*input.before, input.namespace_labels, input.profiles, parity, input.merge});
    if (!done.patch.is_null()) patch_ = done.patch;
  }
  bool gives(std::string_view label, std::optional<std::string_view> value) const {
    const Json* wanted = patch_.at("metadata", kLabels, label);
    return value && wanted != nullptr && wanted->get_string() == value;
  }

 private:
  Json patch_;
};

void check_changes(const AdmissionRules& rules, const ValidationInput& input, const Expected& expected,
                   std::vector<PodViolation>& found) {
  const auto text = [](const Json& pod, std::string_view key) { return pod_text(pod, kLabels, key); };
  const PodClasses was = pod_classes(*input.before);
  const PodClasses is = pod_classes(input.pod);
  if (was.raw_qos != is.raw_qos && !expected.gives(model::kQosClassLabel, text(input.pod, model::kQosClassLabel))) {
    found.push_back({Reason::kPodQosImmutable, label_field(model::kQosClassLabel),
                     std::string(model::to_string(is.raw_qos)),
                     was.raw_qos == Qos::kNone ? "none, as it was" : std::string(model::to_string(was.raw_qos))});
  }
  if (was.raw_priority != is.raw_priority &&
      !expected.gives(model::kPriorityClassLabel, text(input.pod, model::kPriorityClassLabel))) {
    found.push_back({Reason::kPodPriorityClassImmutable, "spec.priority", std::string(name_of(is.raw_priority)),
                     std::string(name_of(was.raw_priority))});
  }
  const auto old_priority = text(*input.before, model::kPriorityLabel).value_or("");
  const auto new_priority = text(input.pod, model::kPriorityLabel).value_or("");
  if (rules.priority_immutable && old_priority != new_priority &&
      !expected.gives(model::kPriorityLabel, new_priority)) {
    found.push_back({Reason::kPodPriorityImmutable, label_field(model::kPriorityLabel), std::string(new_priority),
                     old_priority.empty() ? "none, as it was" : std::string(old_priority)});
  }
}

}  // namespace

std::vector<PodViolation> validate_pod(const AdmissionRules& rules, const ValidationInput& input) {
  if (!input.pod.text_at("metadata", "deletionTimestamp").empty()) return {};
  std::vector<PodViolation> found = check(input, input.pod);
  if (input.before == nullptr) return found;
  const auto before = check(input, *input.before);
  const Expected expected(input, rules.parity);
  const bool caught_up = expected.gives(model::kQosClassLabel, pod_text(input.pod, kLabels, model::kQosClassLabel));
  std::erase_if(found, [&](const PodViolation& each) {
    if (each.reason == Reason::kPodQosForbidsPriority && caught_up) return true;  // the number cannot be changed now
    return std::any_of(before.begin(), before.end(),
                       [&](const PodViolation& old) { return old.reason == each.reason && old.field == each.field; });
  });
  check_changes(rules, input, expected, found);
  return found;
}

Result<EnhancedValidation> read_enhanced_validation(std::string_view enable, std::string_view rules) {
  EnhancedValidation out;
  out.enable = base::lower(base::trim(enable)) == "true";
  if (base::trim(rules).empty()) return out;
  auto json = Json::parse(rules);
  if (!json) return fail(std::move(json).error().within("rules"));
  if (json->is_null()) return out;
  if (!json->is_array())
    return fail(ErrorKind::kInvalid, "rules: wanted an array, found ", base::in_quotes(json->dump()));
  const auto texts = [](const Json& rule, std::string_view key) -> Result<std::vector<std::string>> {
    std::vector<std::string> list;
    const Json* found = rule.member(key);
    if (found == nullptr || found->is_null()) return list;
    if (!found->is_array()) return fail(ErrorKind::kInvalid, key, ": wanted an array of strings");
    for (const Json& each : found->as_array()) {
      if (!each.is_string())
        return fail(ErrorKind::kInvalid, key, ": wanted strings, found ", base::in_quotes(each.dump()));
      list.push_back(each.as_string());
    }
    return list;
  };
  for (std::size_t i = 0; i < json->as_array().size(); ++i) {
    const Json& rule = json->as_array()[i];
    const std::string place = cat("rules[", i, "]");
    if (!rule.is_object()) return fail(ErrorKind::kInvalid, place, ": wanted an object");
    RequiredLabels read;
    read.name = rule.text_at("name");
    auto labels = texts(rule, "requiredLabels");
    if (!labels) return fail(std::move(labels).error().within(place));
    auto exempt = texts(rule, "namespaceWhitelist");
    if (!exempt) return fail(std::move(exempt).error().within(place));
    read.labels = std::move(*labels);
    read.exempt_namespaces = std::move(*exempt);
    out.rules.push_back(std::move(read));
  }
  return out;
}

}  // namespace tidemark::policy::admission
