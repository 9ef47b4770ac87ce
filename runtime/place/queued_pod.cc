#include "runtime/place/queued_pod.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "kube/decode.h"
#include "kube/objects.h"
#include "model/isolation.h"
#include "model/names.h"
#include "model/qos.h"

namespace tidemark::runtime {
namespace {

using policy::single_node::QueueAmount;
using policy::single_node::QueueEffect;
using policy::single_node::QueuePod;
using policy::single_node::QueueToleration;

constexpr std::array kSoldResources{model::kBatchCpu, model::kBatchMemory, model::kMidCpu, model::kMidMemory};

// ---- what it takes: model/pod.h has the rule, here it is of every resource ----

using Amounts = std::map<std::string, std::int64_t, std::less<>>;

void add(Amounts& sums, const kube::ResourceList& list) {
  for (const auto& [name, amount] : list) {
    std::int64_t& sum = sums[std::string(name.view())];
    if (__builtin_add_overflow(sum, std::max<std::int64_t>(amount, 0), &sum)) sum = INT64_MAX;
  }
}

void take_larger(Amounts& into, const Amounts& other) {
  for (const auto& [name, amount] : other) into[name] = std::max(into[name], amount);
}

std::vector<QueueAmount> effective_requests(const kube::Pod& pod) {
  Amounts running, sidecars, starting;
  for (const kube::Container& each : pod.containers) add(running, each.requests);
  for (const kube::Container& each : pod.init_containers) {
    Amounts with_it = sidecars;
    add(with_it, each.requests);
    take_larger(starting, with_it);
    if (!each.restart_always) continue;
    add(running, each.requests);
    sidecars = std::move(with_it);
  }
  take_larger(running, starting);
  for (const auto& [name, amount] : pod.pod_requests) {
    running[std::string(name.view())] = std::max<std::int64_t>(amount, 0);
  }
  add(running, pod.overhead);
  std::vector<QueueAmount> out;
  for (const auto& [name, amount] : running) {
    if (amount > 0) out.push_back({name, amount});
  }
  return out;
}

bool is_sold(const QueueAmount& each) {
  return std::ranges::find(kSoldResources, each.resource) != kSoldResources.end();
}

// By its class as well as by what it asks for: free work asks for nothing.
policy::single_node::WorkKind kind_of(const kube::Pod& pod, const std::vector<QueueAmount>& requests) {
  const kube::Text* label = pod.meta.labels.find(model::kPriorityClassLabel);
  const auto priority_class =
      model::priority_class_raw(label == nullptr ? std::nullopt : std::optional(label->view()), pod.priority);
  const bool offline_class = priority_class == model::PriorityClass::kMid ||
                             priority_class == model::PriorityClass::kBatch ||
                             priority_class == model::PriorityClass::kFree;
  const bool best_effort = model::parse_qos(pod.meta.labels.get(model::kQosClassLabel)) == model::Qos::kBe;
  const bool offline = best_effort || offline_class || std::ranges::any_of(requests, is_sold);
  return offline ? policy::single_node::WorkKind::kOffline : policy::single_node::WorkKind::kOnline;
}

// ---- where it may go ----

std::optional<QueueEffect> effect_of(std::string_view text) {
  if (text == "NoSchedule") return QueueEffect::kNoSchedule;
  if (text == "NoExecute") return QueueEffect::kNoExecute;
  return std::nullopt;
}

void read_toleration(kube::Decoder& decoder, std::vector<QueueToleration>& out) {
  QueueToleration read;
  std::string effect;
  decoder.object([&](std::string_view key) {
    if (key == "key") {
      decoder.string(read.key);
    } else if (key == "operator") {
      std::string_view how;
      decoder.view(how);
      read.exists = how == "Exists";
    } else if (key == "value") {
      decoder.string(read.value);
    } else if (key == "effect") {
      decoder.string(effect);
    } else {
      decoder.skip();
    }
  });
  read.effect = effect_of(effect);
  if (effect.empty() || read.effect) out.push_back(std::move(read));  // other effects exclude no pod
}

void read_labels(kube::Decoder& decoder, std::vector<model::Label>& out) {
  decoder.object([&](std::string_view key) {
    model::Label label{std::string(key), {}};
    decoder.string(label.value);
    out.push_back(std::move(label));
  });
}

// A term's expressions, with those of the node's name among them. What cannot be read matches no node, and neither does
// a term that asks for nothing.
model::LabelSelector term_of(const base::Json& term) {
  base::Json all = base::Json::array();
  for (const std::string_view member : {"matchExpressions", "matchFields"}) {
    const base::Json* list = term.at(member);
    if (list == nullptr || !list->is_array()) continue;
    for (const base::Json& each : list->as_array()) all.as_array().push_back(each);
  }
  if (all.as_array().empty()) return model::LabelSelector::nothing();
  auto selector = model::LabelSelector::from_json(base::Json::object({{"matchExpressions", std::move(all)}}));
  return selector ? std::move(*selector) : model::LabelSelector::nothing();
}

void read_affinity(kube::Decoder& decoder, QueuePod& pod) {
  std::string_view raw;
  decoder.raw(raw);
  const auto affinity = base::Json::parse(raw);
  if (!affinity) return;
  const base::Json* required = affinity->at("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution");
  if (required == nullptr || required->is_null()) return;
  const base::Json* terms = required->at("nodeSelectorTerms");
  if (terms != nullptr && terms->is_array()) {
    for (const base::Json& each : terms->as_array()) pod.affinity.push_back(term_of(each));
  }
  if (pod.affinity.empty()) pod.affinity.push_back(model::LabelSelector::nothing());
}

void read_spec(kube::Decoder& decoder, QueuePod& pod) {
  decoder.object([&](std::string_view key) {
    if (key == "nodeSelector") {
      read_labels(decoder, pod.node_selector);
    } else if (key == "affinity") {
      read_affinity(decoder, pod);
    } else if (key == "tolerations") {
      decoder.array([&] { read_toleration(decoder, pod.tolerations); });
    } else if (key == "schedulingGates") {
      decoder.array([&] {
        pod.gated = true;
        decoder.skip();
      });
    } else {
      decoder.skip();
    }
  });
}

// ---- what was said of it ----

void read_condition(kube::Decoder& decoder, QueuedPod& out) {
  std::string type, reason, message;
  kube::Truth truth = kube::Truth::kUnknown;
  std::optional<base::WallTime> changed;
  decoder.object([&](std::string_view key) {
    if (key == "type") {
      decoder.string(type);
    } else if (key == "status") {
      kube::read_truth(decoder, truth);
    } else if (key == "reason") {
      decoder.string(reason);
    } else if (key == "message") {
      decoder.string(message);
    } else if (key == "lastTransitionTime") {
      decoder.time(changed);
    } else {
      decoder.skip();
    }
  });
  if (type == "DisruptionTarget" && truth == kube::Truth::kTrue) {
    out.disrupted = true;
    out.disrupted_at = changed;
  } else if (type == "PodScheduled" && truth == kube::Truth::kFalse) {
    out.told = true;
    out.told_reason = std::move(reason);
    out.told_message = std::move(message);
  }
}

Result<void> read_rest(std::string_view bytes, kube::Interner& interner, QueuedPod& out) {
  kube::Decoder decoder(bytes, interner);
  decoder.object([&](std::string_view member) {
    if (member == "spec") {
      read_spec(decoder, out.pod);
    } else if (member == "status") {
      decoder.object([&](std::string_view key) {
        if (key != "conditions") return decoder.skip();
        decoder.array([&] { read_condition(decoder, out); });
      });
    } else {
      decoder.skip();
    }
  });
  return decoder.finish("Pod");
}

std::optional<std::string_view> text_of(const kube::Text* text) {
  return text == nullptr ? std::nullopt : std::optional(text->view());
}

// ---- what it costs ----

std::size_t amounts_bytes(const std::vector<QueueAmount>& amounts) {
  std::size_t sum = amounts.capacity() * sizeof(QueueAmount);
  for (const QueueAmount& each : amounts) sum += kube::string_bytes(each.resource);
  return sum;
}

std::size_t labels_bytes(const std::vector<model::Label>& labels) {
  std::size_t sum = labels.capacity() * sizeof(model::Label);
  for (const model::Label& each : labels) sum += kube::string_bytes(each.key) + kube::string_bytes(each.value);
  return sum;
}

// Estimated bytes of an affinity term: a few requirements.
constexpr std::size_t kAffinityTermBytes = sizeof(model::LabelSelector) + 512;

// Who can write nothing says that before all, and that it is off all the same by the status.
bool is_off(const kube::NodeCondition& isolation) {
  const std::string_view reason = isolation.reason.view();
  if (reason == model::kOffLocally) return true;
  return isolation.status == kube::Truth::kTrue && (reason == model::kUnable || reason == model::kNoGroups);
}

}  // namespace

std::size_t QueuedPod::bytes() const {
  std::size_t sum = sizeof(QueuedPod) + meta.ns.bytes() + meta.name.bytes() + node.bytes() +
                    kube::string_bytes(meta.resource_version) + kube::string_bytes(pod.uid) +
                    kube::string_bytes(pod.ns) + kube::string_bytes(pod.name) + kube::string_bytes(told_reason) +
                    kube::string_bytes(told_message) + amounts_bytes(pod.requests) + labels_bytes(pod.node_selector) +
                    pod.affinity.size() * kAffinityTermBytes + pod.tolerations.capacity() * sizeof(QueueToleration);
  for (const QueueToleration& each : pod.tolerations) {
    sum += kube::string_bytes(each.key) + kube::string_bytes(each.value);
  }
  return sum;
}

Result<QueuedPod> decode_queued_pod(std::string_view bytes, kube::Interner& interner) {
  kube::PodFields fields;
  fields.meta.labels = {model::kQosClassLabel, model::kPriorityClassLabel};
  fields.statuses = false;
  TM_TRY(kube::Pod pod, kube::decode_pod(bytes, fields, interner));
  QueuedPod out;
  TM_TRY_VOID(read_rest(bytes, interner, out));
  out.pod.uid = pod.meta.uid.view();
  out.pod.ns = pod.meta.ns.view();
  out.pod.name = pod.meta.name.view();
  out.pod.priority = pod.priority.value_or(0);
  out.pod.created = pod.meta.created.value_or(base::WallTime());
  out.pod.requests = effective_requests(pod);
  out.pod.kind = kind_of(pod, out.pod.requests);
  out.leaving = pod.meta.deleted.has_value();
  out.node = std::move(pod.node_name);
  out.meta = {std::move(pod.meta.ns), std::move(pod.meta.name), std::move(pod.meta.resource_version)};
  return out;
}

Result<QueuedPod> name_queued_pod(std::string_view bytes, kube::Interner& interner) {
  TM_TRY(kube::Identity identity, kube::read_identity(bytes));
  QueuedPod out;
  out.understood = false;
  out.meta = {interner.intern(identity.ns), kube::Text::plain(identity.name), std::move(identity.resource_version)};
  out.pod.uid = std::move(identity.uid);
  out.pod.ns = std::move(identity.ns);
  out.pod.name = std::move(identity.name);
  return out;
}

bool matters_to_queue(const QueuedPod* before, const QueuedPod* after) {
  if (before == nullptr || after == nullptr) return true;
  const QueuePod &was = before->pod, &is = after->pod;
  return was.uid != is.uid || before->understood != after->understood || !(before->node == after->node) ||
         before->leaving != after->leaving || before->disrupted != after->disrupted || was.gated != is.gated ||
         was.priority != is.priority || was.kind != is.kind || was.requests != is.requests ||
         was.node_selector != is.node_selector || was.tolerations != is.tolerations;
}

std::size_t QueuedNode::bytes() const {
  std::size_t sum = sizeof(QueuedNode) + meta.name.bytes() + kube::string_bytes(meta.resource_version) +
                    kube::string_bytes(node.name) + amounts_bytes(node.allocatable) + labels_bytes(node.labels) +
                    node.taints.capacity() * sizeof(policy::single_node::QueueTaint) +
                    (ordered.any() ? policy::state::kStateDetailBytesMax : 0);
  for (const policy::single_node::QueueTaint& each : node.taints) {
    sum += kube::string_bytes(each.key) + kube::string_bytes(each.value);
  }
  return sum;
}

Result<QueuedNode> decode_queued_node(std::string_view bytes, kube::Interner& interner) {
  kube::NodeFields fields;
  fields.meta.labels = kube::KeyFilter::all();
  fields.meta.annotations = {model::kStateDetailAnnotation};
  fields.info = false;
  TM_TRY(kube::Node node, kube::decode_node(bytes, fields, interner));
  QueuedNode out;
  out.node.name = node.meta.name.view();
  for (const auto& [name, amount] : node.allocatable) {
    out.node.allocatable.push_back({std::string(name.view()), amount});
  }
  for (const kube::Taint& each : node.taints) {
    if (each.effect == kube::TaintEffect::kPreferNoSchedule) continue;
    out.node.taints.push_back(
        {std::string(each.key.view()), std::string(each.value.view()),
         each.effect == kube::TaintEffect::kNoExecute ? QueueEffect::kNoExecute : QueueEffect::kNoSchedule});
  }
  for (const auto& [key, value] : node.meta.labels) {
    out.node.labels.push_back({std::string(key.view()), std::string(value.view())});
  }
  out.ordered = policy::state::read_marks(text_of(node.meta.labels.find(model::kStateLabel)),
                                          text_of(node.meta.annotations.find(model::kStateDetailAnnotation)))
                    .marks;
  const kube::NodeCondition* isolation = node.condition(model::kIsolationCondition);
  out.off_locally = isolation != nullptr && is_off(*isolation);
  out.node.cordoned = node.unschedulable;
  out.node.ready = node.ready() == kube::Truth::kTrue;
  out.meta = {std::move(node.meta.ns), std::move(node.meta.name), std::move(node.meta.resource_version)};
  return out;
}

}  // namespace tidemark::runtime
