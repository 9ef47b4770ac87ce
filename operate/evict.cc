#include "operate/evict.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/metrics.h"
#include "base/text.h"
#include "kube/actions.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/status.h"
#include "manager/state/mark_write.h"
#include "model/annotations.h"
#include "model/isolation.h"
#include "model/names.h"
#include "model/oversold.h"
#include "model/reason.h"
#include "operate/cluster_now.h"
#include "operate/list_pages.h"
#include "operate/order_limits.h"
#include "operate/order_wait.h"
#include "policy/admission/pod_json.h"

namespace tidemark::operate {
namespace {

using base::cat;

constexpr base::Duration kEvictLook = std::chrono::milliseconds(500);
constexpr base::Duration kStoreEvery = std::chrono::seconds(2);
constexpr base::Duration kStoreUnchanged = std::chrono::seconds(5);  // shows that the command still runs
constexpr base::Duration kRefusedPause = std::chrono::seconds(5);    // before a pod that refused is asked again
constexpr base::Duration kOutlives = std::chrono::seconds(10);       // beyond the grace
constexpr base::Duration kEvictMinute = std::chrono::minutes(1);
constexpr base::Duration kEvictStandstill = std::chrono::minutes(1);  // beyond the grace
constexpr base::Duration kEvictAnswerMin = std::chrono::seconds(15);  // the API server retries for ten seconds itself
constexpr std::int64_t kDefaultGraceSeconds = 30;                     // of a pod that names none
constexpr std::size_t kRefusedShown = 3;
constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";

// A bound pod that is not terminal.
struct BoundPod {
  struct Meta {
    kube::Text ns;
    kube::Text name;
    std::string resource_version;
  };
  Meta meta;
  kube::Text node;
  std::string uid;
  std::int64_t grace_s = kDefaultGraceSeconds;
  bool offline = false;
  bool is_static = false;
  bool leaving = false;

  std::size_t bytes() const { return sizeof(BoundPod) + uid.capacity() + meta.resource_version.capacity(); }
};

Result<BoundPod> decode_bound_pod(std::string_view bytes, kube::Interner& interner) {
  TM_TRY(const Json json, Json::parse(bytes));
  BoundPod pod;
  pod.meta.ns = interner.intern(json.text_at("metadata", "namespace"));
  pod.meta.name = interner.intern(json.text_at("metadata", "name"));
  pod.meta.resource_version = json.text_at("metadata", "resourceVersion");
  pod.node = interner.intern(json.text_at("spec", "nodeName"));
  // A pod whose labels cannot be read says nothing, and is online.
  pod.offline =
      policy::admission::check_pod(json) && policy::admission::is_offline(policy::admission::pod_classes(json));
  if (!pod.offline) return pod;
  pod.uid = json.text_at("metadata", "uid");
  pod.is_static = policy::admission::pod_text(json, policy::admission::kAnnotations, kMirrorAnnotation).has_value();
  pod.leaving = json.at("metadata", "deletionTimestamp") != nullptr;
  if (const Json* grace = json.at("spec", "terminationGracePeriodSeconds")) {
    pod.grace_s = grace->get_int().value_or(kDefaultGraceSeconds);
  }
  return pod;
}

kube::NodeFields proof_fields() {
  kube::NodeFields fields;
  fields.meta = manager::mark_fields();
  fields.meta.annotations = {model::kStateDetailAnnotation, model::kOriginAllocatableAnnotation,
                             model::kOversoldAnnotation, model::kThirdPartyAllocationsAnnotation};
  fields.info = false;
  fields.condition_messages = {model::kIsolationCondition, model::kStateCondition};
  return fields;
}

// nullopt: the report cannot be read.
std::optional<model::Resources> held_by_yarn(const kube::Node& node) {
  const auto* text = node.meta.annotations.find(model::kThirdPartyAllocationsAnnotation);
  if (text == nullptr) return model::Resources();
  const auto held = model::parse_third_party_allocations(text->view());
  if (!held) return std::nullopt;
  model::Resources sum;
  for (const model::ThirdPartyAllocation& each : *held) {
    if (each.name == model::kYarnThirdParty) sum += each.resources;
  }
  return sum;
}

bool is_marked(const OrderedNode& node) {
  return node.outcome == OrderOutcome::kWritten || node.outcome == OrderOutcome::kAlready;
}

class Evictor {
 public:
  Evictor(net::EventLoop& loop, kube::Client& client, const base::Log& log, base::Random random,
          const OrderReport& report, OrderOptions order, EvictOptions options)
      : loop_(loop),
        client_(client),
        log_(log),
        order_(std::move(order)),
        options_(options),
        fields_(proof_fields()),
        nodes_({loop, client, client, log, metrics_, random.fork()}, config_of(kube::kNodes, ""),
               [this](std::string_view bytes) { return kube::decode_node(bytes, fields_, interner_); }),
        pods_({loop, client, client, log, metrics_, random.fork()}, config_of(kube::kPods, kBoundPods),
              [this](std::string_view bytes) { return decode_bound_pod(bytes, interner_); }),
        scope_(loop) {
    for (const OrderedNode& node : report.nodes) {
      if (is_marked(node)) wanted_.insert(node.name);
      if (node.outcome == OrderOutcome::kFailed) not_marked_[node.name] = node.problem;
    }
    progress_.nodes = wanted_.size() + not_marked_.size();
    progress_.scope = scope_text(order_);
    progress_.by = order_.command.by;
    progress_.why = order_.command.why;
    progress_.options = {options_.grace, options_.per_minute, options_.at_once, report.until};
    progress_.began = loop.clock().wall();
    scope_.spawn(nodes_.run());
    scope_.spawn(pods_.run());
  }

  // The counts of an earlier run of the same order that did not finish go on.
  net::Task<void> resume() {
    const auto stored = co_await read_progress(client_, order_.config_namespace, order_.limit);
    if (!stored) co_return;
    forget_ = outdated_scopes(*stored, progress_.began);
    for (const OffProgress& each : *stored) {
      if (each.scope != progress_.scope || each.by != progress_.by || each.finished()) continue;
      progress_.began = each.began;
      progress_.evicted = each.evicted;
    }
  }

  net::Task<OffProgress> run(base::Duration limit, std::function<void(const OffProgress&)> on_progress) {
    const base::MonotonicTime deadline = loop_.clock().monotonic() + limit;
    std::optional<base::MonotonicTime> stored_at;
    base::MonotonicTime moved_at = loop_.clock().monotonic();
    bool changed = true;
    OffProgress seen = progress_;
    while (true) {
      const bool looked = nodes_.synced() && pods_.synced();
      if (looked) {
        look();
        seen.updated = progress_.updated;
        const bool news = seen != progress_;
        seen = progress_;
        changed = changed || news;
        if (news && on_progress) on_progress(progress_);
        if (progress_.finished()) break;
        if (news || progress_.refused > 0 || std::exchange(waits_for_budget_, false))
          moved_at = loop_.clock().monotonic();
      }
      const base::MonotonicTime now = loop_.clock().monotonic();
      if (options_.gives_up_after > base::Duration(0) && now - moved_at >= options_.gives_up_after) break;
      if (looked && (!stored_at || now - *stored_at >= (changed ? kStoreEvery : kStoreUnchanged))) {
        progress_.updated = loop_.clock().wall();
        co_await store();
        stored_at = now;
        changed = false;
      }
      const base::Duration left = deadline - loop_.clock().monotonic();
      if (left <= base::Duration(0)) break;
      co_await loop_.sleep(std::min(kEvictLook, left));
    }
    progress_.running = false;
    if (!nodes_.synced() || !pods_.synced()) progress_.problem = cat("cannot list nodes or pods: ", list_failure());
    co_await store();
    co_return progress_;
  }

 private:
  std::string list_failure() const {
    const auto& of_nodes = nodes_.core().list_failure();
    const auto& of_pods = pods_.core().list_failure();
    return of_nodes ? of_nodes->message : of_pods ? of_pods->message : "no answer";
  }

  struct Asking {
    std::string uid;
    bool under_way = false;
    bool accepted = false;
    std::string refusal;  // the last answer, if the pod stays
    base::MonotonicTime again;
    std::optional<base::MonotonicTime> leaving_since;
  };

  static kube::InformerConfig config_of(const kube::Resource& resource, std::string_view selector) {
    kube::InformerConfig config;
    config.resource = resource;
    config.field_selector = selector;
    return config;
  }

  void look() {
    std::map<std::string, NodeProof, std::less<>> proofs;
    std::size_t marked = 0;
    nodes_.for_each([&](const kube::ObjectKey& key, const kube::Node& node) {
      if (!wanted_.contains(key.name)) return;
      ++marked;
      NodeProof& proof = proofs[key.name];
      proof.offers = still_offers(node, order_, loop_.clock().wall());
      proof.silent = node.ready() == kube::Truth::kUnknown;
      const auto yarn = held_by_yarn(node);
      proof.yarn = yarn.value_or(model::Resources());
      proof.yarn_unreadable = !yarn;
      proof.agent = agent_answer(node);
      if (!proof.files_restored()) {
        const kube::NodeCondition* says = node.condition(model::kIsolationCondition);
        proof.agent_says = cat(says->reason.view(), says->message.view().empty() ? "" : ": ", says->message.view());
      }
    });
    for (const auto& [name, problem] : not_marked_) proofs[name].not_marked = problem;

    std::set<std::string> here;
    pods_.for_each([&](const kube::ObjectKey& key, const BoundPod& pod) {
      if (!pod.offline) return;
      const auto proof = proofs.find(pod.node.view());
      if (proof == proofs.end()) return;
      ++proof->second.pods;
      if (pod.is_static) {
        ++proof->second.static_pods;
        return;
      }
      const std::string name = cat(key.ns, "/", key.name);
      here.insert(name);
      Asking& asking = asking_[name];
      if (asking.uid != pod.uid) asking = {pod.uid, false, false, "", {}, std::nullopt};
      go_on(pod, name, asking);
      const bool outlived =
          asking.leaving_since && loop_.clock().monotonic() - *asking.leaving_since >= options_.grace + kOutlives;
      proof->second.outlived += outlived ? 1 : 0;
      if (!asking.refusal.empty()) {
        ++refused_;
        if (proof->second.refused.size() < kRefusedShown) {
          proof->second.refused.push_back(cat(name, ": ", asking.refusal));
        }
      }
    });
    std::erase_if(asking_, [&](const auto& each) { return !each.second.under_way && !here.contains(each.first); });
    sum_up(std::move(proofs), marked);
  }

  void sum_up(std::map<std::string, NodeProof, std::less<>> proofs, std::size_t marked) {
    progress_.updated = loop_.clock().wall();
    progress_.nodes = proofs.size();
    progress_.marked = marked;
    progress_.refused = std::exchange(refused_, 0);
    progress_.offers_at_zero = progress_.pods_left = progress_.yarn_left = 0;
    progress_.files_restored = progress_.silent = progress_.done = 0;
    progress_.nodes_left.clear();
    progress_.without_agent.clear();
    for (auto& [name, proof] : proofs) {
      proof.name = name;
      progress_.offers_at_zero += proof.offers || !proof.not_marked.empty() ? 0 : 1;
      progress_.pods_left += proof.pods;
      progress_.yarn_left += proof.yarn == model::Resources() && !proof.yarn_unreadable ? 0 : 1;
      progress_.files_restored += proof.files_restored() ? 1 : 0;
      progress_.silent += proof.silent ? 1 : 0;
      progress_.done += proof.done() ? 1 : 0;
      if (!proof.done()) {
        progress_.nodes_left.push_back(std::move(proof));
      } else if (proof.agent == AgentAnswer::kNoAgent) {
        progress_.without_agent.push_back(name);
      }
    }
  }

  // The next step for one pod, if there is one now.
  void go_on(const BoundPod& pod, const std::string& name, Asking& asking) {
    const base::MonotonicTime now = loop_.clock().monotonic();
    if (pod.leaving && !asking.leaving_since) {
      asking.leaving_since = now;
      asking.refusal.clear();
      asking.again = now + options_.grace;
    }
    if (asking.under_way || now < asking.again || under_way_ >= order_.in_flight) return;
    if (!pod.leaving && !has_budget(now)) return;
    asking.under_way = true;
    ++under_way_;
    scope_.spawn(ask({std::string(pod.meta.ns), std::string(pod.meta.name), pod.uid, pod.grace_s, pod.leaving}, name));
  }

  bool has_budget(base::MonotonicTime now) {
    if (options_.per_minute == 0 || options_.at_once) return true;
    while (!minute_.empty() && now - minute_.front() >= kEvictMinute) minute_.pop_front();
    waits_for_budget_ = static_cast<std::int64_t>(minute_.size()) >= options_.per_minute;
    if (waits_for_budget_) return false;
    minute_.push_back(now);
    return true;
  }

  struct Target {
    std::string ns, name, uid;
    std::int64_t grace_s = 0;
    bool leaving = false;
  };

  net::Task<void> ask(Target pod, std::string key) {
    Result<void> done;
    kube::Status refusal;
    const base::Duration limit = std::max(order_.limit, kEvictAnswerMin);
    const std::int64_t grace_s = std::min(pod.grace_s, std::chrono::ceil<std::chrono::seconds>(options_.grace).count());
    if (pod.leaving || options_.at_once) {
      kube::WriteOptions write;
      write.ns = pod.ns;
      // Never 0: the API server would forget the pod while its containers still run.
      write.grace_period_s = pod.leaving ? 1 : std::max<std::int64_t>(grace_s, 1);
      write.note.reason = model::reason_id(model::Reason::kWriteAsked);
      done = co_await client_.remove(kube::kPods, pod.name, pod.uid, write, limit);
    } else {
      kube::EvictOptions evict;
      evict.refusal = &refusal;
      evict.uid = pod.uid;
      if (grace_s < pod.grace_s) evict.grace_period_s = std::max<std::int64_t>(grace_s, 1);
      evict.note.reason = model::reason_id(model::Reason::kWriteAsked);
      done = co_await kube::evict_pod(client_, pod.ns, pod.name, std::move(evict), limit);
    }
    --under_way_;
    Asking& asking = asking_[key];
    asking.under_way = false;
    asking.again = loop_.clock().monotonic() + (done ? options_.grace : kRefusedPause);
    const bool gone = !done && (done.error().kind == ErrorKind::kNotFound || done.error().kind == ErrorKind::kConflict);
    if (done && !pod.leaving && !asking.accepted) {
      asking.accepted = true;
      ++progress_.evicted;
    }
    const std::string& why = refusal.cause_message;  // names the disruption budget
    asking.refusal = done || gone ? "" : !why.empty() ? why : done.error().message;
    if (!done && !minute_.empty() && !pod.leaving) minute_.pop_back();  // it was not evicted
  }

  net::Task<void> store() {
    const auto stored = co_await store_progress(client_, order_.config_namespace, progress_, order_.limit, forget_);
    if (stored) forget_.clear();
    if (!stored && !std::exchange(store_failed_, true)) {
      log_.warn("cannot store the progress; the eviction continues",
                {{"config_map", kOffProgressName}, {"error", stored.error().message}});
    }
  }

  net::EventLoop& loop_;
  kube::Client& client_;
  const base::Log& log_;
  OrderOptions order_;
  EvictOptions options_;
  base::Registry metrics_;
  kube::Interner interner_;
  kube::NodeFields fields_;
  kube::Informer<kube::Node> nodes_;
  kube::Informer<BoundPod> pods_;
  std::set<std::string, std::less<>> wanted_;
  std::map<std::string, std::string> not_marked_;  // node → why
  std::map<std::string, Asking> asking_;           // by NAMESPACE/NAME
  std::deque<base::MonotonicTime> minute_;         // accepted requests of the last minute
  bool waits_for_budget_ = false;
  std::int64_t under_way_ = 0;
  std::size_t refused_ = 0;
  bool store_failed_ = false;
  std::vector<std::string> forget_;  // scopes that the first store removes
  OffProgress progress_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace

net::Task<Result<EvictPreview>> preview_eviction(net::EventLoop& loop, kube::Client& client, const OrderReport& report,
                                                 base::Duration limit) {
  std::set<std::string, std::less<>> wanted;
  for (const OrderedNode& node : report.nodes) {
    if (is_marked(node)) wanted.insert(node.name);
  }
  EvictPreview out;
  kube::Interner interner;
  const kube::NodeFields fields = proof_fields();
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kNodes, {}, limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(const auto node, kube::decode_node(item, fields, interner));
        const auto held = held_by_yarn(node);
        if (!wanted.contains(node.meta.name.view()) || held == model::Resources()) return {};
        ++out.nodes_with_yarn;
        out.yarn = out.yarn + held.value_or(model::Resources());
        return {};
      },
      [&] { out = {}; }));
  kube::ListOptions bound;
  bound.field_selector = kBoundPods;
  EvictPreview pods;
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kPods, bound, limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(const auto pod, decode_bound_pod(item, interner));
        if (!pod.offline || !wanted.contains(pod.node.view())) return {};
        ++pods.pods;
        pods.static_pods += pod.is_static ? 1 : 0;
        return {};
      },
      [&] { pods = {}; }));
  out.pods = pods.pods;
  out.static_pods = pods.static_pods;
  co_return out;
}

base::Duration default_wait(EvictOptions& options) {
  options.gives_up_after = options.grace + kEvictStandstill;
  return options.per_minute > 0 ? kDrainMax : options.grace + kEvictWait;
}

net::Task<OffProgress> evict_offline(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                     base::Random random, const OrderReport& report, EvictOrder order,
                                     std::function<void(const OffProgress&)> on_progress) {
  Evictor evictor(loop, client, log, random, report, std::move(order.order), order.options);
  co_await evictor.resume();
  co_return co_await evictor.run(order.limit, std::move(on_progress));
}

}  // namespace tidemark::operate
