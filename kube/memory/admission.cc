// What a real API server's admission plugins add to pods, and its two pod sub-resources that are actions.
#include <algorithm>

#include "base/text.h"
#include "kube/memory/registry.h"
#include "kube/memory/selector.h"
#include "model/quantity.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

constexpr int kEvictionRetryS = 10;
constexpr std::size_t kDisruptedPodsMax = 2000;  // a budget's list of pods on their way out

bool is_system_resource(std::string_view name) {
  return name == "cpu" || name == "memory";
}

// BestEffort: no requests and limits of cpu and memory; Guaranteed: limits of both, equal to the requests, everywhere.
std::string qos_class(const Json& spec) {
  bool any = false;
  bool guaranteed = true;
  for (const char* list : {"containers", "initContainers"}) {
    const Json* containers = spec.at(list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (const Json& container : containers->as_array()) {
      const Json* limits = container.at("resources", "limits");
      const Json* requests = container.at("resources", "requests");
      int limited = 0;
      for (const Json* amounts : {requests, limits}) {
        if (amounts == nullptr || !amounts->is_object()) continue;
        for (const auto& [name, amount] : amounts->as_object()) {
          const auto quantity = model::Quantity::from_json(amount);
          if (!is_system_resource(name) || !quantity || quantity->sign() <= 0) continue;
          any = true;
          if (amounts == limits) {
            ++limited;
            const Json* wanted = requests == nullptr ? nullptr : requests->at(name);
            const auto other = wanted == nullptr ? quantity : model::Quantity::from_json(*wanted);
            if (!other || *other != *quantity) guaranteed = false;
          }
        }
      }
      if (limited != 2) guaranteed = false;
    }
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

void add_toleration(Json& spec, const char* key) {
  if (const Json* held = spec.at("tolerations"); held != nullptr && held->is_array()) {
    for (const Json& toleration : held->as_array()) {
      const bool effect = toleration.text_at("effect").empty() || toleration.text_at("effect") == "NoExecute";
      if (effect && (toleration.text_at("key") == key || toleration.text_at("key").empty())) return;
    }
  }
  Json& list = spec["tolerations"];
  if (!list.is_array()) list = Json::array();
  list.as_array().push_back(
      Json::object({{"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}}));
}

bool is_ready(const Json& pod) {
  const Json* conditions = pod.at("status", "conditions");
  if (conditions == nullptr || !conditions->is_array()) return false;
  return std::any_of(conditions->as_array().begin(), conditions->as_array().end(), [](const Json& condition) {
    return condition.text_at("type") == "Ready" && condition.text_at("status") == "True";
  });
}

// minAvailable or maxUnavailable of `total`, rounded up as the disruption controller does.
std::int64_t share(const Json& value, std::int64_t total) {
  if (const auto number = value.get_int()) return *number;
  std::string_view text = value.get_string().value_or("0");
  if (text.ends_with('%')) text.remove_suffix(1);
  return (base::parse_int(text).value_or(0) * total + 99) / 100;
}

ApiError too_many(std::string_view budget, std::string message, int retry_after_s = 0) {
  ApiError error =
      plain_error(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.");
  error.causes.push_back({"DisruptionBudget", cat("The disruption budget ", budget, " ", message), ""});
  error.retry_after_s = retry_after_s;
  return error;
}

}  // namespace

Answer<void> Registry::admit(const Kind& kind, Json& tree) {
  if (kind.custom) return {};
  if (kind.name == "Pod") return admit_pod(tree);
  if (kind.name == "Secret") {
    if (const Json* text = tree.at("stringData"); text != nullptr && text->is_object()) {
      const Json copy = *text;
      for (const auto& [key, value] : copy.as_object())
        tree["data"][key] = base::base64_encode(value.get_string().value_or(""));
      tree.as_object().erase("stringData");
    }
  } else if (kind.name == "Service") {
    // There is no service network here: a service has no address of its own.
    if (tree.text_at("spec", "clusterIP").empty() && tree.text_at("spec", "type") != "ExternalName")
      tree["spec"]["clusterIP"] = "None";
  } else if (kind.name == "Job" && tree.at("spec", "selector") == nullptr && tree.at("spec", "template") != nullptr) {
    const std::string uid(meta_text(tree, "uid"));
    const std::string name(meta_text(tree, "name"));
    tree["spec"]["selector"] =
        Json::object({{"matchLabels", Json::object({{"batch.kubernetes.io/controller-uid", uid}})}});
    Json& labels = tree["spec"]["template"]["metadata"]["labels"];
    labels["batch.kubernetes.io/controller-uid"] = uid;
    labels["batch.kubernetes.io/job-name"] = name;
    labels["controller-uid"] = uid;
    labels["job-name"] = name;
  }
  return {};
}

Answer<void> Registry::admit_pod(Json& tree) {
  Json& spec = tree["spec"];
  if (!spec.is_object()) return {};  // validation says what is missing
  const KindPtr classes = kinds_.find_group("scheduling.k8s.io", "priorityclasses");
  ObjectPtr chosen;
  if (const std::string wanted(spec.text_at("priorityClassName")); !wanted.empty()) {
    chosen = store_.latest(classes->storage_id, wanted);
    if (chosen == nullptr)
      return refuse(
          forbidden("", "pods", meta_text(tree, "name"), cat("no PriorityClass with name ", wanted, " was found")));
  } else {
    for (const auto& [key, object] : store_.objects(classes->storage_id)) {
      const Json value = object->json();
      if (const Json* flag = value.at("globalDefault"); flag != nullptr && flag->get_bool().value_or(false))
        chosen = object;
    }
    if (chosen != nullptr) spec["priorityClassName"] = chosen->name;
  }
  std::int64_t priority = 0;
  std::string preemption = "PreemptLowerPriority";
  if (chosen != nullptr) {
    const Json value = chosen->json();
    if (const Json* number = value.at("value")) priority = number->get_int().value_or(0);
    if (!value.text_at("preemptionPolicy").empty()) preemption = value.text_at("preemptionPolicy");
  }
  if (const Json* own = spec.at("priority"); own != nullptr && own->get_int() != priority)
    return refuse(forbidden("", "pods", meta_text(tree, "name"),
                            cat("the integer value of priority (", own->dump(),
                                ") must not be provided in pod spec; priority admission "
                                "controller computed ",
                                priority, " from the given PriorityClass name")));
  spec["priority"] = priority;
  if (spec.at("preemptionPolicy") == nullptr) spec["preemptionPolicy"] = preemption;
  if (Json* grace = spec.as_object().find("terminationGracePeriodSeconds");
      grace != nullptr && grace->get_int().value_or(0) < 0)
    *grace = 1;
  add_toleration(spec, "node.kubernetes.io/not-ready");
  add_toleration(spec, "node.kubernetes.io/unreachable");
  tree["status"] = Json::object({{"phase", "Pending"}, {"qosClass", qos_class(spec)}});
  return {};
}

Answer<Written> Registry::bind(std::string_view ns, std::string_view name, const Json& body,
                               const WriteRequest& request) {
  const KindPtr pods = kinds_.find_group("", "pods");
  TM_TRY(const ObjectPtr before, current(*pods, ns, name));
  if (meta_text(body, "name") != name) return refuse(bad_request("name in URL does not match name in Binding object"));
  const std::string target(body.text_at("target", "name"));
  const std::string_view target_kind = body.text_at("target", "kind");
  if (target.empty()) return refuse(plain_error(500, "", "target.name: Required value"));
  if (!target_kind.empty() && target_kind != "Node")
    return refuse(invalid("", "Binding", name,
                          {unsupported_value("target.kind", Json(target_kind).dump(), {"Node", "<empty>"})}));
  const auto already = [&](std::string why) {
    return refuse(conflict("", "pods/binding", name, cat("pod ", name, " ", why)));
  };
  if (const std::string_view uid = meta_text(body, "uid"); !uid.empty() && uid != before->uid)
    return refuse(
        conflict("", "pods/binding", name,
                 cat("Precondition failed: UID in precondition: ", uid, ", UID in object meta: ", before->uid)));
  if (before->terminating) return already("is being deleted, cannot be assigned to a host");
  Json tree = before->json();
  if (const std::string_view node = tree.text_at("spec", "nodeName"); !node.empty())
    return already(cat("is already assigned to node \"", node, "\""));
  if (const Json* gates = tree.at("spec", "schedulingGates");
      gates != nullptr && gates->is_array() && !gates->as_array().empty())
    return already("has non-empty .spec.schedulingGates");
  tree["spec"]["nodeName"] = target;
  if (const Json* annotations = body.at("metadata", "annotations"); annotations != nullptr && annotations->is_object())
    for (const auto& [key, value] : annotations->as_object()) meta(tree)["annotations"][key] = value;
  Json& conditions = tree["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  std::erase_if(conditions.as_array(),
                [](const Json& condition) { return condition.text_at("type") == "PodScheduled"; });
  conditions.as_array().push_back(Json::object(
      {{"type", "PodScheduled"}, {"status", "True"}, {"lastProbeTime", nullptr}, {"lastTransitionTime", now_text()}}));
  return write(pods, before, std::move(tree), request.dry_run);
}

Answer<Written> Registry::evict(std::string_view ns, std::string_view name, const Json& body, DeleteRequest request) {
  const KindPtr pods = kinds_.find_group("", "pods");
  if (const std::string_view own = meta_text(body, "name"); !own.empty() && own != name)
    return refuse(bad_request("name in URL does not match name in Eviction object"));
  TM_TRY(const ObjectPtr pod, current(*pods, ns, name));
  const Json tree = pod->json();
  const std::string_view phase = tree.text_at("status", "phase");
  const bool counted = phase != "Succeeded" && phase != "Failed" && phase != "Pending" && !pod->terminating;
  if (counted) TM_TRY_VOID(check_budget(*pod, tree, request.dry_run));
  if (!request.dry_run) {
    DeleteRequest trial = request;  // preconditions hold for both writes, or for none
    trial.dry_run = true;
    TM_TRY_VOID(remove(pods, ns, name, trial));
    TM_TRY_VOID(mark_disrupted(pods, pod));
    request.resource_version.clear();
  }
  return remove(pods, ns, name, request);
}

// Counters of pod ends must distinguish this one from a failure.
Answer<void> Registry::mark_disrupted(const KindPtr& pods, const ObjectPtr& pod) {
  Json tree = pod->json();
  Json& conditions = tree["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  std::erase_if(conditions.as_array(),
                [](const Json& condition) { return condition.text_at("type") == "DisruptionTarget"; });
  conditions.as_array().push_back(Json::object({{"type", "DisruptionTarget"},
                                                {"status", "True"},
                                                {"lastProbeTime", nullptr},
                                                {"lastTransitionTime", now_text()},
                                                {"reason", "EvictionByEvictionAPI"},
                                                {"message", "Eviction API: evicting"}}));
  TM_TRY_VOID(write(pods, pod, std::move(tree), false));
  return {};
}

// A budget whose status some controller keeps is taken at its word, as a real API server does. There is none in this
// process, so a status that is not up to date is worked out here from the pods themselves.
Answer<void> Registry::check_budget(const Object& pod, const Json& pod_tree, bool dry_run) {
  const KindPtr budgets = kinds_.find_group("policy", "poddisruptionbudgets");
  const KindPtr pods = kinds_.find_group("", "pods");
  ObjectPtr chosen;
  for (const auto& [key, object] : store_.objects(budgets->storage_id)) {
    if (object->ns != pod.ns) continue;
    const Json budget = object->json();
    const auto selector = LabelSelector::from_json(budget.at("spec", "selector"));
    if (!selector || !selector->matches(pod.labels)) continue;
    if (chosen != nullptr)
      return refuse(plain_error(
          500, "", "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."));
    chosen = object;
  }
  if (chosen == nullptr) return {};
  chosen = store_.latest(budgets->storage_id, object_key(chosen->ns, chosen->name));
  if (chosen == nullptr) return {};
  Json budget = chosen->json();
  const bool ready = is_ready(pod_tree);
  if (!ready && budget.text_at("spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow") return {};
  const Json* observed = budget.at("status", "observedGeneration");
  const Json* generation = budget.at("metadata", "generation");
  const bool kept = observed != nullptr && generation != nullptr &&
                    observed->get_int().value_or(0) >= generation->get_int().value_or(0);
  if (kept) {
    if (!ready) {
      const Json* healthy = budget.at("status", "currentHealthy");
      const Json* desired = budget.at("status", "desiredHealthy");
      const std::int64_t wants = desired == nullptr ? 0 : desired->get_int().value_or(0);
      if (wants > 0 && healthy != nullptr && healthy->get_int().value_or(0) >= wants) return {};
    }
    const Json* allowed = budget.at("status", "disruptionsAllowed");
    const std::int64_t left = allowed == nullptr ? 0 : allowed->get_int().value_or(0);
    const Json* going = budget.at("status", "disruptedPods");
    if (left <= 0) {
      const Json* desired = budget.at("status", "desiredHealthy");
      const Json* healthy = budget.at("status", "currentHealthy");
      return refuse(
          too_many(chosen->name, cat("needs ", desired == nullptr ? "0" : desired->dump(), " healthy pods and has ",
                                     healthy == nullptr ? "0" : healthy->dump(), " currently")));
    }
    if (going != nullptr && going->is_object() && going->as_object().size() > kDisruptedPodsMax)
      return refuse(too_many(chosen->name, "has too many evictions not confirmed by its controller"));
    if (dry_run) return {};
    budget["status"]["disruptionsAllowed"] = left - 1;
    budget["status"]["disruptedPods"][pod.name] = now_text();
    TM_TRY([[maybe_unused]] const Written written, write(budgets, chosen, std::move(budget), false));
    return {};
  }
  std::int64_t expected = 0;
  std::int64_t healthy = 0;
  TM_TRY(const LabelSelector selector, LabelSelector::from_json(budget.at("spec", "selector")));
  for (const auto& [key, committed] : store_.objects(pods->storage_id)) {
    if (committed->ns != pod.ns || !selector.matches(committed->labels)) continue;
    const ObjectPtr object = store_.latest(pods->storage_id, key);  // an eviction staged a moment ago counts
    if (object == nullptr) continue;
    const Json other = object->json();
    const std::string_view phase = other.text_at("status", "phase");
    if (phase == "Succeeded" || phase == "Failed") continue;
    ++expected;
    if (is_ready(other) && !object->terminating) ++healthy;
  }
  std::int64_t needed = 0;
  if (const Json* minimum = budget.at("spec", "minAvailable"))
    needed = share(*minimum, expected);
  else if (const Json* maximum = budget.at("spec", "maxUnavailable"))
    needed = expected - share(*maximum, expected);
  else
    needed = expected - 1;
  if (!ready && healthy >= needed && needed > 0) return {};
  if (healthy - 1 < needed)
    return refuse(too_many(
        chosen->name, cat("needs ", std::max<std::int64_t>(needed, 0), " healthy pods and has ", healthy, " currently"),
        kEvictionRetryS));
  return {};
}

}  // namespace tidemark::kube::memory
