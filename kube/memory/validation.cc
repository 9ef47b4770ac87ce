#include "kube/memory/validation.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/text.h"
#include "kube/json_index.h"
#include "kube/memory/names.h"
#include "kube/memory/object.h"
#include "kube/memory/pod_update.h"
#include "kube/memory/selector.h"
#include "model/quantity.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

constexpr std::int64_t kSecondsMax = 2'147'483'647;  // of a pod's activeDeadlineSeconds

std::string shown(const Json* value) {
  return value == nullptr ? "\"\"" : value->dump();
}

std::string shown_text(std::string_view text) {
  return Json(text).dump();
}

void check_labels(const Json* labels, const std::string& field, Causes& causes) {
  if (labels == nullptr || !labels->is_object()) return;
  for (const auto& [key, value] : labels->as_object()) {
    if (const std::string why = qualified_name_error(key); !why.empty())
      causes.push_back(invalid_value(field, shown_text(key), why));
    if (const std::string why = label_value_error(value.get_string().value_or("")); !why.empty())
      causes.push_back(invalid_value(field, shown(&value), why));
  }
}

std::string name_error(std::string_view name, NameRule rule) {
  switch (rule) {
    case NameRule::kLabel:
      return dns_label_error(name);
    case NameRule::kLabel1035:
      return dns_1035_label_error(name);
    case NameRule::kPathSegment:
      return path_segment_error(name);
    case NameRule::kSubdomain:
      break;
  }
  return dns_subdomain_error(name);
}

bool is_native_resource(std::string_view name) {
  return name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
}

void check_amount(std::string_view name, const Json& amount, const std::string& field, Causes& causes) {
  const auto quantity = model::Quantity::from_json(amount);
  if (!quantity) {
    causes.push_back(invalid_value(field, amount.dump(), quantity.error().message));
    return;
  }
  if (quantity->sign() < 0) causes.push_back(invalid_value(field, amount.dump(), "must be greater than or equal to 0"));
  // Extended resources, huge pages apart, are counted in whole units.
  if (!is_native_resource(name)) {
    model::Quantity whole = *quantity;
    if (!whole.round_up(0)) causes.push_back(invalid_value(field, amount.dump(), "must be an integer"));
  }
}

// The real server writes a pod's amounts as "limits[cpu]" and a node's as "capacity.cpu".
void check_amounts(const Json* list, const std::string& field, bool brackets, Causes& causes) {
  if (list == nullptr || !list->is_object()) return;
  for (const auto& [name, amount] : list->as_object()) {
    const std::string at = brackets ? cat(field, "[", name, "]") : cat(field, ".", name);
    if (const std::string why = qualified_name_error(name); !why.empty())
      causes.push_back(invalid_value(at, shown_text(name), why));
    check_amount(name, amount, at, causes);
  }
}

void check_resources(const Json* resources, const std::string& field, Causes& causes) {
  if (resources == nullptr) return;
  const Json* limits = resources->at("limits");
  const Json* requests = resources->at("requests");
  check_amounts(limits, field + ".limits", true, causes);
  check_amounts(requests, field + ".requests", true, causes);
  if (requests == nullptr || !requests->is_object()) return;
  static const JsonObject none;
  const JsonIndex limited(limits != nullptr && limits->is_object() ? limits->as_object() : none);
  for (const auto& [name, amount] : requests->as_object()) {
    const Json* limit = limited.find(name);
    const std::string at = field + ".requests";
    if (limit == nullptr) {
      if (!is_native_resource(name))
        causes.push_back(required_value(field + ".limits", "Limit must be set for non overcommitable resources"));
      continue;
    }
    const auto wanted = model::Quantity::from_json(amount);
    const auto bound = model::Quantity::from_json(*limit);
    if (!wanted || !bound) continue;
    if (!is_native_resource(name) && *wanted != *bound) {
      causes.push_back(invalid_value(at, shown_text(wanted->canonical()),
                                     cat("must be equal to ", name, " limit of ", bound->canonical())));
    } else if (*wanted > *bound) {
      causes.push_back(invalid_value(at, shown_text(wanted->canonical()),
                                     cat("must be less than or equal to ", name, " limit of ", bound->canonical())));
    }
  }
}

void check_one_of(const Json* value, const std::string& field, const std::vector<std::string>& allowed,
                  Causes& causes) {
  if (value == nullptr || !value->is_string()) return;
  if (std::find(allowed.begin(), allowed.end(), value->as_string()) == allowed.end())
    causes.push_back(unsupported_value(field, value->dump(), allowed));
}

void check_container(const Json& container, const std::string& field, std::set<std::string>& names, Causes& causes) {
  const std::string name(container.text_at("name"));
  if (name.empty()) {
    causes.push_back(required_value(field + ".name"));
  } else if (const std::string why = dns_label_error(name); !why.empty()) {
    causes.push_back(invalid_value(field + ".name", shown_text(name), why));
  } else if (!names.insert(name).second) {
    causes.push_back(duplicate_value(field + ".name", shown_text(name)));
  }
  if (container.text_at("image").empty()) causes.push_back(required_value(field + ".image"));
  check_one_of(container.at("imagePullPolicy"), field + ".imagePullPolicy", {"Always", "IfNotPresent", "Never"},
               causes);
  check_resources(container.at("resources"), field + ".resources", causes);
  if (const Json* ports = container.at("ports"); ports != nullptr && ports->is_array()) {
    std::size_t index = 0;
    for (const Json& port : ports->as_array()) {
      const std::string at = cat(field, ".ports[", index++, "].containerPort");
      const auto number = port.at("containerPort") == nullptr ? std::nullopt : port.at("containerPort")->get_int();
      if (!number)
        causes.push_back(required_value(at));
      else if (*number < 1 || *number > 65535)
        causes.push_back(invalid_value(at, cat(*number), "must be between 1 and 65535, inclusive"));
    }
  }
  if (const Json* env = container.at("env"); env != nullptr && env->is_array()) {
    std::size_t index = 0;
    for (const Json& entry : env->as_array()) {
      if (entry.text_at("name").empty()) causes.push_back(required_value(cat(field, ".env[", index, "].name")));
      ++index;
    }
  }
}

void check_gates(const Json& spec, const std::string& field, Causes& causes) {
  const Json* gates = spec.at("schedulingGates");
  if (gates == nullptr || !gates->is_array()) return;
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (const Json& gate : gates->as_array()) {
    const std::string at = cat(field, ".schedulingGates[", index++, "]");
    const std::string_view name = gate.text_at("name");
    if (const std::string why = qualified_name_error(name); !why.empty())
      causes.push_back(invalid_value(at, shown_text(name), why));
    if (!seen.insert(name).second) causes.push_back(duplicate_value(at, shown_text(name)));
  }
}

void check_pod_spec(const Json* spec, const std::string& field, Causes& causes) {
  if (spec == nullptr || !spec->is_object()) {
    causes.push_back(required_value(field + ".containers"));
    return;
  }
  const Json* containers = spec->at("containers");
  if (containers == nullptr || !containers->is_array() || containers->as_array().empty())
    causes.push_back(required_value(field + ".containers"));
  std::set<std::string> names;
  for (const char* list : {"initContainers", "containers"}) {
    const Json* held = spec->at(list);
    if (held == nullptr || !held->is_array()) continue;
    std::size_t index = 0;
    for (const Json& container : held->as_array())
      check_container(container, cat(field, ".", list, "[", index++, "]"), names, causes);
  }
  check_one_of(spec->at("restartPolicy"), field + ".restartPolicy", {"Always", "OnFailure", "Never"}, causes);
  check_one_of(spec->at("dnsPolicy"), field + ".dnsPolicy",
               {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"}, causes);
  if (const std::string_view node = spec->text_at("nodeName"); !node.empty())
    if (const std::string why = dns_subdomain_error(node); !why.empty())
      causes.push_back(invalid_value(field + ".nodeName", shown_text(node), why));
  std::set<std::string> volumes;
  if (const Json* held = spec->at("volumes"); held != nullptr && held->is_array()) {
    std::size_t index = 0;
    for (const Json& volume : held->as_array()) {
      const std::string at = cat(field, ".volumes[", index++, "].name");
      const std::string name(volume.text_at("name"));
      if (const std::string why = dns_label_error(name); !why.empty()) {
        causes.push_back(name.empty() ? required_value(at) : invalid_value(at, shown_text(name), why));
      } else if (!volumes.insert(name).second) {
        causes.push_back(duplicate_value(at, shown_text(name)));
      }
    }
  }
  check_labels(spec->at("nodeSelector"), field + ".nodeSelector", causes);
  if (const Json* seconds = spec->at("activeDeadlineSeconds"); seconds != nullptr && !seconds->is_null()) {
    const std::int64_t value = seconds->get_int().value_or(0);
    if (value < 1 || value > kSecondsMax)
      causes.push_back(invalid_value(field + ".activeDeadlineSeconds", seconds->dump(),
                                     cat("must be between 1 and ", kSecondsMax, ", inclusive")));
  }
  check_gates(*spec, field, causes);
}

void check_immutable(const Json& before, const Json& after, const char* path, Causes& causes) {
  const Json* was = at_path(before, path);
  const Json* now = at_path(after, path);
  const Json none;
  if ((was == nullptr ? none : *was) == (now == nullptr ? none : *now)) return;
  causes.push_back(invalid_value(path, now == nullptr ? "null" : now->dump(), "field is immutable"));
}

void check_pod(const Json& tree, const Json* before, std::string_view subresource, Causes& causes) {
  if (subresource.empty() && before == nullptr) {
    check_pod_spec(tree.at("spec"), "spec", causes);
    const Json* gates = tree.at("spec", "schedulingGates");
    if (gates != nullptr && gates->is_array() && !gates->as_array().empty() &&
        !tree.text_at("spec", "nodeName").empty())
      causes.push_back(forbidden_value("spec.nodeName", "cannot be set until all schedulingGates have been cleared"));
  }
  if (subresource.empty() && before != nullptr) {
    check_pod_spec(tree.at("spec"), "spec", causes);
    check_pod_update(*before, tree, causes);
  }
}

void check_node(const Json& tree, const Json*, std::string_view, Causes& causes) {
  check_amounts(tree.at("status", "capacity"), "status.capacity", false, causes);
  check_amounts(tree.at("status", "allocatable"), "status.allocatable", false, causes);
  const Json* taints = tree.at("spec", "taints");
  if (taints == nullptr || !taints->is_array()) return;
  std::set<std::string> seen;
  std::size_t index = 0;
  for (const Json& taint : taints->as_array()) {
    const std::string at = cat("metadata.taints[", index++, "]");  // the real server says metadata, not spec
    if (const std::string why = qualified_name_error(taint.text_at("key")); !why.empty())
      causes.push_back(invalid_value(at + ".key", shown_text(taint.text_at("key")), why));
    if (taint.text_at("effect").empty()) causes.push_back(required_value(at + ".effect"));
    check_one_of(taint.at("effect"), at + ".effect", {"NoSchedule", "PreferNoSchedule", "NoExecute"}, causes);
    if (!seen.insert(cat(taint.text_at("key"), " ", taint.text_at("effect"))).second)
      causes.push_back({"FieldValueDuplicate", "Duplicate value: taints must be unique by key and effect pair", at});
  }
}

void check_data(const Json& tree, const Json* before, std::string_view, Causes& causes) {
  std::size_t bytes = 0;
  for (const char* member : {"data", "binaryData", "stringData"}) {
    const Json* data = tree.at(member);
    if (data == nullptr || !data->is_object()) continue;
    for (const auto& [key, value] : data->as_object()) {
      if (const std::string why = config_key_error(key); !why.empty())
        causes.push_back(invalid_value(cat(member, "[", key, "]"), shown_text(key), why));
      bytes += value.is_string() ? value.as_string().size() : 0;
    }
  }
  const Json* binary = tree.at("binaryData");
  if (const Json* data = tree.at("data");
      data != nullptr && data->is_object() && binary != nullptr && binary->is_object()) {
    const JsonIndex index(binary->as_object());
    for (const auto& [key, value] : data->as_object())
      if (index.find(key) != nullptr)
        causes.push_back(
            invalid_value(cat("data[", key, "]"), shown_text(key), "duplicate of key present in binaryData"));
  }
  if (bytes > kDataBytesMax) causes.push_back(too_long("[]", kDataBytesMax));  // of no single field
  if (before != nullptr && before->at("immutable") != nullptr && before->at("immutable")->get_bool().value_or(false)) {
    for (const char* member : {"data", "binaryData"}) {
      const Json* was = before->at(member);
      const Json* now = tree.at(member);
      if ((was == nullptr ? Json() : *was) != (now == nullptr ? Json() : *now))
        causes.push_back(forbidden_value(member, "field is immutable when `immutable` is set"));
    }
    if (tree.at("immutable") == nullptr || !tree.at("immutable")->get_bool().value_or(false))
      causes.push_back(forbidden_value("immutable", "field is immutable when `immutable` is set"));
  }
}

void check_secret(const Json& tree, const Json* before, std::string_view subresource, Causes& causes) {
  check_data(tree, before, subresource, causes);
  if (before != nullptr) check_immutable(*before, tree, "type", causes);
}

void check_lease(const Json& tree, const Json*, std::string_view, Causes& causes) {
  const Json* seconds = tree.at("spec", "leaseDurationSeconds");
  if (seconds != nullptr && seconds->get_int().value_or(1) <= 0)
    causes.push_back(invalid_value("spec.leaseDurationSeconds", seconds->dump(), "must be greater than 0"));
  const Json* transitions = tree.at("spec", "leaseTransitions");
  if (transitions != nullptr && transitions->get_int().value_or(0) < 0)
    causes.push_back(invalid_value("spec.leaseTransitions", transitions->dump(), "must be greater than or equal to 0"));
}

// metav1.LabelSelector, in the API machinery's words.
void check_selector(const Json* selector, const std::string& field, Causes& causes) {
  if (selector == nullptr || !selector->is_object()) return;
  check_labels(selector->at("matchLabels"), field + ".matchLabels", causes);
  const Json* list = selector->at("matchExpressions");
  if (list == nullptr || !list->is_array()) return;
  std::size_t index = 0;
  for (const Json& entry : list->as_array()) {
    const std::string at = cat(field, ".matchExpressions[", index++, "]");
    const std::string_view op = entry.text_at("operator");
    const Json* values = entry.at("values");
    const bool some = values != nullptr && values->is_array() && !values->as_array().empty();
    if (op == "In" || op == "NotIn") {
      if (!some) causes.push_back(required_value(at + ".values", kSelectorNeedsValues));
    } else if (op == "Exists" || op == "DoesNotExist") {
      if (some) causes.push_back(forbidden_value(at + ".values", kSelectorTakesNoValues));
    } else {
      causes.push_back(invalid_value(at + ".operator", shown_text(op), "not a valid selector operator"));
    }
    if (const std::string why = qualified_name_error(entry.text_at("key")); !why.empty())
      causes.push_back(invalid_value(at + ".key", shown_text(entry.text_at("key")), why));
    for (std::size_t i = 0; some && i < values->as_array().size(); ++i) {
      const Json& value = values->as_array()[i];
      if (const std::string why = label_value_error(value.get_string().value_or("")); !why.empty())
        causes.push_back(invalid_value(cat(at, ".values[", i, "]"), value.dump(), why));
    }
  }
}

void check_workload(const Json& tree, const Json* before, std::string_view subresource, Causes& causes) {
  if (!subresource.empty()) return;
  check_pod_spec(tree.at("spec", "template", "spec"), "spec.template.spec", causes);
  if (const Json* replicas = tree.at("spec", "replicas"); replicas != nullptr && replicas->get_int().value_or(0) < 0)
    causes.push_back(invalid_value("spec.replicas", replicas->dump(), "must be greater than or equal to 0"));
  const Json* selector = tree.at("spec", "selector");
  if (selector == nullptr) {
    causes.push_back(required_value("spec.selector"));
    return;
  }
  const LabelList labels = labels_of(tree.at("spec", "template", "metadata", "labels"));
  check_selector(selector, "spec.selector", causes);
  const auto parsed = LabelSelector::from_json(selector);
  if (!parsed) {
    causes.push_back(invalid_value("spec.selector", selector->dump(), "invalid label selector"));
  } else if (!parsed->matches(labels)) {
    const Json* held = tree.at("spec", "template", "metadata", "labels");
    causes.push_back(invalid_value("spec.template.metadata.labels", held == nullptr ? "null" : held->dump(),
                                   "`selector` does not match template `labels`"));
  }
  if (before != nullptr) check_immutable(*before, tree, "spec.selector", causes);
}

void check_job(const Json& tree, const Json* before, std::string_view subresource, Causes& causes) {
  if (!subresource.empty()) return;
  check_pod_spec(tree.at("spec", "template", "spec"), "spec.template.spec", causes);
  if (before == nullptr && tree.text_at("spec", "template", "spec", "restartPolicy") == "Always")
    causes.push_back(unsupported_value("spec.template.spec.restartPolicy", "\"Always\"", {"OnFailure", "Never"}));
  if (tree.text_at("spec", "completionMode") == "Indexed" && tree.at("spec", "completions") == nullptr)
    causes.push_back(required_value("spec.completions", "when completion mode is Indexed"));
  const std::string_view restarts = tree.text_at("spec", "template", "spec", "restartPolicy");
  if (tree.at("spec", "podFailurePolicy") != nullptr && restarts != "Never")
    causes.push_back(invalid_value("spec.template.spec.restartPolicy", shown_text(restarts),
                                   "only \"Never\" is supported when podFailurePolicy is specified"));
  if (before == nullptr) return;
  for (const char* path :
       {"spec.completions", "spec.completionMode", "spec.podFailurePolicy", "spec.backoffLimitPerIndex"})
    check_immutable(*before, tree, path, causes);
}

void check_priority_class(const Json& tree, const Json* before, std::string_view, Causes& causes) {
  const std::int64_t value = tree.at("value") == nullptr ? 0 : tree.at("value")->get_int().value_or(0);
  constexpr std::int64_t kUserMax = 1'000'000'000;
  if (value > kUserMax && !meta_text(tree, "name").starts_with("system-"))
    causes.push_back(forbidden_value("value", cat("maximum allowed value of a user defined priority is ", kUserMax)));
  if (before != nullptr) {
    check_immutable(*before, tree, "value", causes);
    check_immutable(*before, tree, "preemptionPolicy", causes);
  }
}

void check_service(const Json& tree, const Json*, std::string_view subresource, Causes& causes) {
  if (!subresource.empty()) return;
  const Json* ports = tree.at("spec", "ports");
  const bool headless = tree.text_at("spec", "clusterIP") == "None" || tree.text_at("spec", "type") == "ExternalName";
  if ((ports == nullptr || !ports->is_array() || ports->as_array().empty()) && !headless)
    causes.push_back(required_value("spec.ports"));
  check_one_of(tree.at("spec", "type"), "spec.type", {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}, causes);
}

void check_role_binding(const Json& tree, const Json* before, std::string_view, Causes& causes) {
  if (tree.text_at("roleRef", "name").empty()) causes.push_back(required_value("roleRef.name"));
  if (before != nullptr && before->at("roleRef") != nullptr && tree.at("roleRef") != nullptr &&
      *before->at("roleRef") != *tree.at("roleRef"))
    causes.push_back(invalid_value("roleRef", tree.at("roleRef")->dump(), "cannot change roleRef"));
}

void check_budget(const Json& tree, const Json*, std::string_view, Causes& causes) {
  if (tree.at("spec", "minAvailable") != nullptr && tree.at("spec", "maxUnavailable") != nullptr)
    causes.push_back(
        invalid_value("spec", tree.at("spec")->dump(), "minAvailable and maxUnavailable cannot be both set"));
  check_selector(tree.at("spec", "selector"), "spec.selector", causes);
  check_one_of(tree.at("spec", "unhealthyPodEvictionPolicy"), "spec.unhealthyPodEvictionPolicy",
               {"AlwaysAllow", "IfHealthyBudget"}, causes);
}

// Events of the old form are checked little, those of the new form (they have an eventTime) in full.
void check_event(const Json& tree, const Json* before, std::string_view, Causes& causes) {
  const std::string_view ns = tree.text_at("involvedObject", "namespace");
  const bool about_cluster = ns.empty() && meta_text(tree, "namespace") == "default";
  if (!about_cluster && ns != meta_text(tree, "namespace"))
    causes.push_back(invalid_value("involvedObject.namespace", shown_text(ns), "does not match event.namespace"));
  if (before != nullptr || tree.text_at("eventTime").empty()) return;
  if (tree.text_at("reportingComponent").empty()) causes.push_back(required_value("reportingController"));
  if (const std::string why = qualified_name_error(tree.text_at("reportingComponent")); !why.empty())
    causes.push_back(invalid_value("reportingController", shown_text(tree.text_at("reportingComponent")), why));
  for (const char* member : {"reportingInstance", "action", "reason"})
    if (tree.text_at(member).empty()) causes.push_back(required_value(member));
  if (const std::string_view type = tree.text_at("type"); type != "Normal" && type != "Warning")
    causes.push_back(invalid_value("type", shown_text(type), cat("has invalid value: ", type)));
}

using Check = void (*)(const Json&, const Json*, std::string_view, Causes&);
struct CheckRow {
  const char* kind;
  Check check;
};
constexpr CheckRow kChecks[] = {
    {"Pod", check_pod},
    {"Node", check_node},
    {"Event", check_event},
    {"ConfigMap", check_data},
    {"Secret", check_secret},
    {"Lease", check_lease},
    {"Deployment", check_workload},
    {"ReplicaSet", check_workload},
    {"StatefulSet", check_workload},
    {"DaemonSet", check_workload},
    {"Job", check_job},
    {"PriorityClass", check_priority_class},
    {"Service", check_service},
    {"RoleBinding", check_role_binding},
    {"ClusterRoleBinding", check_role_binding},
    {"PodDisruptionBudget", check_budget},
};

}  // namespace

void validate_meta(const Json& tree, const Kind& kind, Causes& causes) {
  const std::string name(meta_text(tree, "name"));
  if (std::string prefix(meta_text(tree, "generateName")); !prefix.empty()) {
    const std::string shown_prefix = shown_text(prefix);
    if (prefix.back() == '-') prefix.back() = 'a';  // as the part of a name that it is
    if (const std::string why = name_error(prefix, kind.name_rule); !why.empty())
      causes.push_back(invalid_value("metadata.generateName", shown_prefix, why));
  }
  if (name.empty()) {
    causes.push_back(required_value("metadata.name", "name or generateName is required"));
  } else if (const std::string why = name_error(name, kind.name_rule); !why.empty()) {
    causes.push_back(invalid_value("metadata.name", shown_text(name), why));
  }
  check_labels(tree.at("metadata", "labels"), "metadata.labels", causes);
  if (const Json* annotations = tree.at("metadata", "annotations");
      annotations != nullptr && annotations->is_object()) {
    std::size_t bytes = 0;
    for (const auto& [key, value] : annotations->as_object()) {
      // Keys may be written in capitals here.
      if (const std::string why = qualified_name_error(base::lower(key)); !why.empty())
        causes.push_back(invalid_value("metadata.annotations", shown_text(key), why));
      bytes += key.size() + value.get_string().value_or("").size();
    }
    if (bytes > kAnnotationsBytesMax) causes.push_back(too_long("metadata.annotations", kAnnotationsBytesMax));
  }
  if (const Json* owners = tree.at("metadata", "ownerReferences"); owners != nullptr && owners->is_array()) {
    int controllers = 0;
    for (const Json& owner : owners->as_array()) {
      for (const char* member : {"apiVersion", "kind", "name", "uid"})
        if (owner.text_at(member).empty())
          causes.push_back(
              invalid_value(cat("metadata.ownerReferences.", member), "\"\"", cat(member, " must not be empty")));
      if (const Json* flag = owner.at("controller"); flag != nullptr && flag->get_bool().value_or(false)) ++controllers;
    }
    if (controllers > 1)
      causes.push_back(invalid_value("metadata.ownerReferences", owners->dump(),
                                     "Only one reference can have Controller set to true."));
  }
  for (const std::string& finalizer : finalizers(tree)) {
    std::string why = qualified_name_error(finalizer);
    const bool standard = finalizer == "orphan" || finalizer == "foregroundDeletion" || finalizer == "kubernetes";
    if (why.empty() && !standard && kind.type != nullptr && finalizer.find('/') == std::string::npos)
      why = "name is neither a standard finalizer name nor is it fully qualified";
    if (!why.empty()) causes.push_back(invalid_value("metadata.finalizers", shown_text(finalizer), why));
  }
}

void validate_meta_update(const Json& before, const Json& after, Causes& causes) {
  for (const char* member : {"name", "namespace", "uid"})
    if (meta_text(before, member) != meta_text(after, member))
      causes.push_back(
          invalid_value(cat("metadata.", member), shown_text(meta_text(after, member)), "field is immutable"));
  if (meta_text(before, "deletionTimestamp").empty()) return;
  const auto held = finalizers(before);
  for (const std::string& finalizer : finalizers(after))
    if (std::find(held.begin(), held.end(), finalizer) == held.end())
      causes.push_back(forbidden_value(
          "metadata.finalizers",
          cat("no new finalizers can be added if the object is being deleted, found new finalizers []string{",
              shown_text(finalizer), "}")));
}

void validate_builtin(const Json& tree, const Json* before, const Kind& kind, std::string_view subresource,
                      Causes& causes) {
  if (kind.group == "events.k8s.io" && before == nullptr && tree.text_at("eventTime").empty())
    causes.push_back(required_value("eventTime"));
  for (const CheckRow& row : kChecks)
    if (kind.name == row.kind) row.check(tree, before, subresource, causes);
}

}  // namespace tidemark::kube::memory
