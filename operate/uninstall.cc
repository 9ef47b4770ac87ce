#include "operate/uninstall.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "kube/resource.h"
#include "manager/capacity/capacity_patch.h"
#include "manager/profiles/recommender.h"
#include "model/annotations.h"
#include "model/ended_tasks.h"
#include "model/isolation.h"
#include "model/names.h"
#include "model/oversold.h"
#include "model/reason.h"
#include "model/yarn_reclaim.h"
#include "operate/get.h"
#include "operate/list_pages.h"
#include "operate/off_progress.h"

namespace tidemark::operate {
namespace {

using base::cat;

constexpr std::size_t kProblemsShown = 10;
constexpr base::Duration kLeaseOld = std::chrono::minutes(2);  // no leader renews it any more
constexpr int kHistoryMaps = 8;

constexpr std::size_t kPodsNamed = 5;
constexpr std::string_view kOurPods = "app.kubernetes.io/name=tidemark";  // label of the chart
constexpr std::string_view kManagedBy = "tidemark-manager";
constexpr std::array<std::string_view, 14> kNodeAnnotations{
    manager::kEpochAnnotation,     model::kConfigHashAnnotation,        model::kStateDetailAnnotation,
    model::kYarnOfferAnnotation,   "tidemark.io/yarn-reclaim",          "tidemark.io/yarn-drain",
    model::kYarnBookAnnotation,    "tidemark.io/yarn-book-of",          model::kYarnBookRenewedAnnotation,
    model::kYarnReclaimAnnotation, model::kYarnReclaimAnswerAnnotation, model::kYarnPreemptedAnnotation,
    model::kEndedTasksAnnotation,  model::kOversoldAnnotation};
constexpr std::array<std::string_view, 3> kSharedAnnotations{
    model::kOriginAllocatableAnnotation, model::kNormalizationRatioAnnotation, model::kAmplificationRatioAnnotation};
constexpr std::array<std::string_view, 4> kOffered{model::kBatchCpu, model::kBatchMemory, model::kMidCpu,
                                                   model::kMidMemory};
constexpr std::string_view kManagerLease = "koordinator-manager";
constexpr std::array<std::string_view, 3> kLeaseNames{kManagerLease, "tidemark-manager", "koordinator-yarn-operator"};
constexpr std::string_view kWebhookSecret = "koordinator-webhook-certs";
constexpr std::string_view kMutatingName = "koordinator-mutating-webhook-configuration";
constexpr std::string_view kValidatingName = "koordinator-validating-webhook-configuration";

// One write. Several of one object follow each other.
struct Step {
  enum class Verb : std::uint8_t { kPatch, kRemove } verb = Verb::kPatch;
  kube::PatchType type = kube::PatchType::kMerge;
  std::string subresource;
  std::string body;
};
struct Cleaning {
  std::string ns, name;
  std::vector<Step> steps;
};
// What is to be done about an object; no steps: it is clean.
using StepsOf = std::function<std::vector<Step>(const Json& object)>;

Step removal() {
  return {Step::Verb::kRemove, kube::PatchType::kMerge, "", ""};
}

// null for each of the keys that the map of the object has.
template <class Keys>
Json nulls(const Json* map, const Keys& keys) {
  Json out = Json::object();
  for (const std::string_view key : keys) {
    if (map != nullptr && map->member(key) != nullptr) out[key] = Json(nullptr);
  }
  return out;
}

bool any(const Json& object) {
  return !object.as_object().empty();
}

bool has_condition(const Json& node, std::string_view type) {
  const Json* conditions = node.at("status", "conditions");
  return conditions != nullptr && conditions->is_array() &&
         std::ranges::any_of(conditions->as_array(), [&](const Json& each) { return each.text_at("type") == type; });
}

// Metadata and taints of a node.
std::optional<Step> node_step(const Json& node, bool keep_shared) {
  Json annotations = nulls(node.at("metadata", "annotations"), kNodeAnnotations);
  if (!keep_shared) {
    const Json more = nulls(node.at("metadata", "annotations"), kSharedAnnotations);
    for (const auto& [key, value] : more.as_object()) annotations[key] = value;
  }
  const std::array<std::string_view, 1> label{model::kStateLabel};
  Json labels = nulls(node.at("metadata", "labels"), label);
  Json body = Json::object();
  if (any(annotations)) body["metadata"]["annotations"] = std::move(annotations);
  if (any(labels)) body["metadata"]["labels"] = std::move(labels);
  if (const Json* taints = node.at("spec", "taints"); taints != nullptr && taints->is_array()) {
    Json kept = Json::array();
    for (const Json& taint : taints->as_array()) {
      if (taint.text_at("key") != model::kOversoldTaint) kept.as_array().push_back(taint);
    }
    if (kept.as_array().size() != taints->as_array().size()) {
      body["spec"]["taints"] = std::move(kept);
      // A merge replaces the whole list: only if it is still the one that was read.
      body["metadata"]["resourceVersion"] = Json(node.text_at("metadata", "resourceVersion"));
    }
  }
  if (!any(body)) return std::nullopt;
  return Step{Step::Verb::kPatch, kube::PatchType::kMerge, "", body.dump()};
}

// A condition that reports kernel files in force stays: it is all that is known of them.
bool reports_files(const Json& node) {
  const Json* conditions = node.at("status", "conditions");
  if (conditions == nullptr || !conditions->is_array()) return false;
  return std::ranges::any_of(conditions->as_array(), [](const Json& each) {
    return each.text_at("type") == model::kIsolationCondition &&
           !model::says_nothing_in_force(each.text_at("reason"), each.text_at("message"));
  });
}

std::optional<Step> node_status_step(const Json& node, bool keep_shared) {
  Json status = Json::object();
  Json conditions = Json::array();
  for (const std::string_view type : {model::kStateCondition, model::kIsolationCondition}) {
    if (!has_condition(node, type) || (type == model::kIsolationCondition && reports_files(node))) continue;
    conditions.as_array().push_back(Json::object({{"type", Json(type)}, {"$patch", "delete"}}));
  }
  if (!conditions.as_array().empty()) status["conditions"] = std::move(conditions);
  if (!keep_shared) {
    for (const std::string_view list : {"capacity", "allocatable"}) {
      Json amounts = nulls(node.at("status", list), kOffered);
      if (any(amounts)) status[list] = std::move(amounts);
    }
  }
  if (!any(status)) return std::nullopt;
  return Step{Step::Verb::kPatch, kube::PatchType::kStrategicMerge, "status",
              Json::object({{"status", std::move(status)}}).dump()};
}

std::vector<Step> without_annotation(const Json& object, std::string_view key) {
  const std::array<std::string_view, 1> keys{key};
  Json annotations = nulls(object.at("metadata", "annotations"), keys);
  if (!any(annotations)) return {};
  return {{Step::Verb::kPatch, kube::PatchType::kMerge, "",
           Json::object({{"metadata", Json::object({{"annotations", std::move(annotations)}})}}).dump()}};
}

// The finalizer keeps a pod until the gateway has read its end; no gateway runs any more.
bool has_finalizer(const Json& pod) {
  const Json* finalizers = pod.at("metadata", "finalizers");
  return finalizers != nullptr && finalizers->is_array() &&
         std::ranges::find(finalizers->as_array(), Json(model::kEndIsReadFinalizer)) != finalizers->as_array().end();
}

bool has_ended(const Json& pod) {
  const auto phase = pod.text_at("status", "phase");
  return pod.at("metadata", "deletionTimestamp") != nullptr || phase == "Succeeded" || phase == "Failed";
}

std::vector<Step> pod_steps(const Json& pod) {
  auto steps = without_annotation(pod, model::kProfilesAnnotation);
  if (!has_finalizer(pod) || !has_ended(pod)) return steps;
  Json body = steps.empty() ? Json::object() : *Json::parse(steps[0].body);
  Json kept = *pod.at("metadata", "finalizers");
  std::erase(kept.as_array(), Json(model::kEndIsReadFinalizer));
  body["metadata"]["finalizers"] = std::move(kept);
  // A merge replaces the whole list: only if it is still the one that was read.
  body["metadata"]["resourceVersion"] = Json(pod.text_at("metadata", "resourceVersion"));
  return {{Step::Verb::kPatch, kube::PatchType::kMerge, "", body.dump()}};
}

// The zones without the offer; nullopt: no zone has one.
std::optional<Json> zones_left(const Json& topology) {
  const Json* zones = topology.at("zones");
  if (zones == nullptr || !zones->is_array()) return std::nullopt;
  Json kept = *zones;
  std::size_t removed = 0;
  for (Json& zone : kept.as_array()) {
    const Json* resources = zone.member("resources");
    if (resources == nullptr || !resources->is_array()) continue;
    removed += std::erase_if(zone["resources"].as_array(), [](const Json& each) {
      return std::ranges::find(kOffered, each.text_at("name")) != kOffered.end();
    });
  }
  return removed > 0 ? std::optional(std::move(kept)) : std::nullopt;
}

std::vector<Step> topology_steps(const Json& topology, bool keep_shared) {
  auto steps = without_annotation(topology, manager::kEpochAnnotation);
  auto zones = keep_shared ? std::nullopt : zones_left(topology);
  if (!zones) return steps;
  Json body = steps.empty() ? Json::object() : *Json::parse(steps[0].body);
  body["zones"] = std::move(*zones);
  // A merge replaces the whole list: only if it is still the one that was read.
  body["metadata"]["resourceVersion"] = Json(topology.text_at("metadata", "resourceVersion"));
  return {{Step::Verb::kPatch, kube::PatchType::kMerge, "", body.dump()}};
}

std::vector<Step> slo_steps(const Json& slo, bool keep_shared) {
  if (!keep_shared) return {removal()};
  if (slo.at("spec", "extensions", "Object", "tidemark") == nullptr) return {};
  return {{Step::Verb::kPatch, kube::PatchType::kMerge, "", R"({"spec":{"extensions":{"Object":{"tidemark":null}}}})"}};
}

class Uninstall {
 public:
  Uninstall(net::EventLoop& loop, kube::Client& client, UninstallOptions options)
      : loop_(loop), client_(client), options_(std::move(options)) {
    report_.dry_run = options_.dry_run;
  }

  net::Task<Result<UninstallReport>> run() {
    if (!options_.dry_run) {
      TM_CO_TRY_VOID(co_await check_no_leader());
      TM_CO_TRY_VOID(co_await check_no_pods());
    }
    TM_CO_TRY_VOID(co_await kind(kube::kNodes, {}, [this](const Json& node) {
      std::vector<Step> steps;
      if (auto step = node_step(node, options_.keep_shared)) steps.push_back(std::move(*step));
      if (auto step = node_status_step(node, options_.keep_shared)) steps.push_back(std::move(*step));
      const auto name = node.text_at("metadata", "name");
      if (reports_files(node)) {
        report_.left.push_back(cat("node ", name,
                                   ": its agent reported kernel files in force; `tidemark off --local` there restores "
                                   "them, then remove the condition ",
                                   model::kIsolationCondition));
      }
      if (node.at("metadata", "annotations", model::kThirdPartyAllocationsAnnotation) != nullptr) yarn_ = true;
      return steps;
    }));
    TM_CO_TRY_VOID(co_await kind(kube::kNodeResourceTopologies, {},
                                 [this](const Json& object) { return topology_steps(object, options_.keep_shared); }));
    TM_CO_TRY_VOID(co_await kind(kube::kPods, {}, [this](const Json& pod) {
      if (has_finalizer(pod) && !has_ended(pod)) {
        report_.left.push_back(cat("pod ", pod.text_at("metadata", "namespace"), "/", pod.text_at("metadata", "name"),
                                   ": a Spark driver that runs, with the finalizer ", model::kEndIsReadFinalizer,
                                   "; when it has ended, run `tidemark uninstall` again"));
      }
      return pod_steps(pod);
    }));
    TM_CO_TRY_VOID(co_await kind(kube::kNodeSlos, {},
                                 [this](const Json& object) { return slo_steps(object, options_.keep_shared); }));
    kube::ListOptions ours;
    ours.label_selector = cat("app.kubernetes.io/managed-by=", kManagedBy);
    TM_CO_TRY_VOID(co_await kind(manager::kRecommendations, ours, [](const Json&) { return std::vector{removal()}; }));
    if (!options_.keep_shared) {
      TM_CO_TRY_VOID(co_await kind(kube::kNodeMetrics, {}, [](const Json&) { return std::vector{removal()}; }));
      TM_CO_TRY_VOID(co_await named(kube::kMutatingWebhooks, "", {std::string(kMutatingName)}));
      TM_CO_TRY_VOID(co_await named(kube::kValidatingWebhooks, "", {std::string(kValidatingName)}));
      TM_CO_TRY_VOID(co_await named(kube::kSecrets, options_.config_namespace, {std::string(kWebhookSecret)}));
      TM_CO_TRY_VOID(
          co_await named(kube::kLeases, options_.config_namespace, {kLeaseNames.begin(), kLeaseNames.end()}));
      report_.left.push_back(
          cat("Leases, Secrets and webhook configurations with another name (manager.leaseName, webhooks.secretName, "
              "mutatingConfiguration, validatingConfiguration): `kubectl get leases,secrets -n ",
              options_.config_namespace,
              "` and `kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations` list them"));
    }
    // The orders last: until then a second run knows them.
    TM_CO_TRY_VOID(co_await named(kube::kConfigMaps, options_.config_namespace, maps()));
    if (yarn_) {
      report_.left.emplace_back(
          "YARN: ResourceManagers keep their last totals until a NodeManager restarts, and nodes keep the annotation "
          "node.koordinator.sh/thirdPartyAllocations, which Koordinator's YARN operator writes as well");
    }
    report_.left.emplace_back("pods: what the webhooks changed in them, until they end");
    report_.left.emplace_back("machines: /run/tidemark until the next boot, and /var/lib/tidemark");
    report_.left.emplace_back("what helm installed: `helm uninstall` removes it; the CRDs stay");
    co_return std::move(report_);
  }

 private:
  std::vector<std::string> maps() const {
    std::vector<std::string> names{std::string(model::kTidemarkConfigName), std::string(model::kRevisionsName),
                                   std::string(model::kBudgetsName), "tidemark-history-forecast-0"};
    for (int i = 0; i < kHistoryMaps; ++i) {
      names.push_back(cat("tidemark-history-profiles-", i));
      names.push_back(cat("tidemark-history-least-", i));
    }
    if (!options_.keep_shared) names.emplace_back(model::kConfigName);
    names.emplace_back(kOffProgressName);
    names.emplace_back(model::kStateName);
    return names;
  }

  // A lease that is still renewed has a manager that would write everything again. Its holder is named after its host:
  // the annotation shows that our program wrote it.
  net::Task<Result<void>> check_no_leader() {
    std::string held;
    kube::ListOptions list;
    list.ns = options_.config_namespace;
    TM_CO_TRY_VOID(co_await list_pages(
        loop_, client_, kube::kLeases, std::move(list), options_.limit,
        [&](std::string_view item) -> Result<void> {
          TM_TRY(const Json lease, Json::parse(item));
          const auto name = lease.text_at("metadata", "name");
          const auto holder = lease.text_at("spec", "holderIdentity");
          const auto renewed = base::parse_rfc3339(lease.text_at("spec", "renewTime"));
          if (holder.empty() || !renewed || loop_.clock().wall() - *renewed >= kLeaseOld) return {};
          const bool known = std::ranges::find(kLeaseNames, name) != kLeaseNames.end();
          const bool ours = (known && holder.starts_with("tidemark")) ||
                            lease.text_at("metadata", "annotations", model::kAnnotatedByAnnotation) == holder;
          if (ours || (known && !options_.keep_shared)) held = cat("lease ", name, " is held by ", holder);
          return {};
        },
        [&] { held.clear(); }));
    if (held.empty()) co_return Result<void>();
    co_return fail(ErrorKind::kDenied, held,
                   ", which would write everything again. Remove its Deployment first (helm uninstall), and wait ",
                   base::format_go_duration(kLeaseOld));
  }

  // A manager without election holds no lease, and an agent writes its node's condition and NodeMetric again.
  net::Task<Result<void>> check_no_pods() {
    std::vector<std::string> running;
    kube::ListOptions list;
    list.ns = options_.config_namespace;
    list.label_selector = kOurPods;
    TM_CO_TRY_VOID(co_await list_pages(
        loop_, client_, kube::kPods, std::move(list), options_.limit,
        [&](std::string_view item) -> Result<void> {
          TM_TRY(const Json pod, Json::parse(item));
          const auto phase = pod.text_at("status", "phase");
          if (phase != "Succeeded" && phase != "Failed") running.emplace_back(pod.text_at("metadata", "name"));
          return {};
        },
        [&] { running.clear(); }));
    if (running.empty()) co_return Result<void>();
    const std::size_t more = running.size() - std::min(running.size(), kPodsNamed);
    running.resize(running.size() - more);
    co_return fail(ErrorKind::kDenied, "pods of Tidemark run in namespace ", options_.config_namespace, ": ",
                   base::join(running, ", "), more == 0 ? "" : cat(" and ", more, " more"),
                   ". They would write everything again. Remove their Deployments and DaemonSets first (helm "
                   "uninstall), and wait until the pods are gone");
  }

  net::Task<Result<void>> kind(kube::Resource resource, kube::ListOptions list, StepsOf steps_of) {
    std::deque<Cleaning> found;
    TM_CO_TRY(const auto revision,
              co_await list_pages(
                  loop_, client_, resource, std::move(list), options_.limit,
                  [&](std::string_view item) -> Result<void> {
                    TM_TRY(const Json object, Json::parse(item));
                    auto steps = steps_of(object);
                    if (steps.empty()) return {};
                    found.push_back({std::string(object.text_at("metadata", "namespace")),
                                     std::string(object.text_at("metadata", "name")), std::move(steps)});
                    return {};
                  },
                  [&] { found.clear(); }));
    static_cast<void>(revision);
    co_return co_await clean(resource, std::move(found));
  }

  net::Task<Result<void>> named(kube::Resource resource, std::string ns, std::vector<std::string> names) {
    std::deque<Cleaning> found;
    for (const std::string& name : names) {
      TM_CO_TRY(const auto bytes, co_await get_if_there(client_, resource, ns, name, options_.limit));
      if (bytes) found.push_back({ns, name, {removal()}});
    }
    co_return co_await clean(resource, std::move(found));
  }

  net::Task<Result<void>> clean(kube::Resource resource, std::deque<Cleaning> found) {
    if (found.empty()) co_return Result<void>();
    UninstalledKind result;
    result.kind = resource.kind;
    result.found = found.size();
    if (!options_.dry_run) {
      net::Event news(loop_);
      std::int64_t working = 0;
      net::Scope scope(loop_);
      const auto work = [&]() -> net::Task<void> {
        while (!found.empty()) {
          const Cleaning next = std::move(found.front());
          found.pop_front();
          const auto done = co_await one(resource, next);
          if (done) {
            ++result.done;
          } else if (result.problems.size() < kProblemsShown) {
            result.problems.push_back(cat(next.name, ": ", done.error().message));
          }
        }
        --working;
        news.set();
      };
      const auto workers = std::min<std::size_t>(found.size(), static_cast<std::size_t>(options_.in_flight));
      for (std::size_t i = 0; i < workers; ++i) {
        ++working;
        scope.spawn(work());
      }
      while (working > 0) {
        news.clear();
        co_await news.wait();
      }
    }
    report_.kinds.push_back(std::move(result));
    co_return Result<void>();
  }

  net::Task<Result<void>> one(kube::Resource resource, const Cleaning& object) {
    for (const Step& step : object.steps) {
      kube::WriteOptions write;
      write.ns = object.ns;
      write.subresource = step.subresource;
      write.note.reason = model::reason_id(model::Reason::kWriteAsked);
      write.answer_is_read = false;
      if (step.verb == Step::Verb::kRemove) {
        const auto done = co_await client_.remove(resource, object.name, "", write, options_.limit);
        if (!done && done.error().kind != ErrorKind::kNotFound) co_return std::unexpected(done.error());
        continue;
      }
      const auto done = co_await client_.patch(resource, object.name, step.type, step.body, write, options_.limit);
      if (!done && done.error().kind != ErrorKind::kNotFound) co_return std::unexpected(done.error());
    }
    co_return Result<void>();
  }

  net::EventLoop& loop_;
  kube::Client& client_;
  UninstallOptions options_;
  UninstallReport report_;
  bool yarn_ = false;
};

}  // namespace

bool UninstallReport::complete() const {
  return std::ranges::all_of(kinds, [&](const UninstalledKind& each) { return dry_run || each.done == each.found; });
}

net::Task<Result<UninstallReport>> uninstall(net::EventLoop& loop, kube::Client& client, UninstallOptions options) {
  Uninstall run(loop, client, std::move(options));
  co_return co_await run.run();
}

}  // namespace tidemark::operate
