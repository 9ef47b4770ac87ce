#include "yarn_operator/objects.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "base/text.h"
#include "kube/convert.h"
#include "model/annotations.h"
#include "model/ended_tasks.h"
#include "model/names.h"
#include "model/yarn_reclaim.h"
#include "policy/sell/ledger/books.h"
#include "policy/state/state.h"

namespace tidemark::yarn_operator {
namespace {

constexpr std::string_view kHostNameLabel = "kubernetes.io/hostname";
constexpr std::string_view kReady = "Ready";
// Annotations.
constexpr std::array kWritten = {model::kThirdPartyAllocationsAnnotation, model::kYarnBookAnnotation,
                                 model::kYarnReclaimAnswerAnnotation, model::kYarnPreemptedAnnotation,
                                 kYarnBookOfAnnotation};
constexpr std::array kRead = {model::kOriginAllocatableAnnotation, model::kStateDetailAnnotation,
                              model::kYarnNodeIdAnnotation,        model::kYarnClusterIdAnnotation,
                              model::kYarnOfferAnnotation,         model::kYarnReclaimAnnotation};

// Texts of one interner are compared as handles.
bool same_text(const kube::Text* a, const kube::Text* b) {
  return a == nullptr || b == nullptr ? a == b : *a == *b;
}

bool same_texts(const kube::TextMap& a, const kube::TextMap& b, std::span<const std::string_view> keys) {
  return std::ranges::all_of(keys, [&](std::string_view key) { return same_text(a.find(key), b.find(key)); });
}

bool same_labels(const kube::TextMap& a, const kube::TextMap& b) {
  return a.size() == b.size() &&
         std::ranges::all_of(a, [&](const auto& entry) { return same_text(&entry.value, b.find(entry.key)); });
}

kube::PodFields pod_fields() {
  kube::PodFields fields;
  fields.statuses = false;
  return fields;
}

kube::PodFields nm_pod_fields() {
  kube::PodFields fields;
  fields.meta.annotations = {model::kYarnNodeIdAnnotation, model::kYarnClusterIdAnnotation};
  fields.resources = false;
  fields.statuses = false;
  return fields;
}

PodMeta meta_of(kube::Pod& pod) {
  return {std::move(pod.meta.ns), std::move(pod.meta.name), std::move(pod.meta.resource_version)};
}

std::optional<std::string_view> text_of(const kube::TextMap& map, std::string_view key) {
  const kube::Text* found = map.find(key);
  return found == nullptr ? std::nullopt : std::optional(found->view());
}

// The manager's annotation; without it (older managers), the node's resources (copilot contract 4).
Result<std::optional<model::Resources>> origin_of(const kube::Node& node) {
  if (const auto text = text_of(node.meta.annotations, model::kOriginAllocatableAnnotation)) {
    auto origin = model::parse_origin(*text);
    if (!origin) return fail(std::move(origin).error().within(model::kOriginAllocatableAnnotation));
    return std::optional(*origin);
  }
  const auto cpu = node.allocatable.find(model::kBatchCpu);
  const auto memory = node.allocatable.find(model::kBatchMemory);
  if (!cpu && !memory) return std::optional<model::Resources>();
  return std::optional(model::Resources{{cpu.value_or(0)}, {memory.value_or(0)}});
}

}  // namespace

bool says_the_same(const PodRow& a, const PodRow& b) {
  return a.node == b.node && a.batch == b.batch;
}

void BatchSum::add(model::Resources batch, int pods) {
  pods_ += pods;
  cpu_milli_ += __int128{batch.cpu.value} * pods;
  memory_bytes_ += __int128{batch.memory.value} * pods;
}

model::Resources BatchSum::sum() const {
  constexpr __int128 kMax = std::numeric_limits<std::int64_t>::max();
  return {{static_cast<std::int64_t>(std::min(cpu_milli_, kMax))},
          {static_cast<std::int64_t>(std::min(memory_bytes_, kMax))}};
}

bool says_the_same(const NmPodRow& a, const NmPodRow& b) {
  return a.node == b.node && a.id == b.id && a.cluster == b.cluster;
}

bool says_the_same(const kube::Node* a, const kube::Node* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->unschedulable == b->unschedulable && a->ready() == b->ready() && a->internal_ip == b->internal_ip &&
         same_labels(a->meta.labels, b->meta.labels) && same_texts(a->meta.annotations, b->meta.annotations, kRead) &&
         a->allocatable.find(model::kBatchCpu) == b->allocatable.find(model::kBatchCpu) &&
         a->allocatable.find(model::kBatchMemory) == b->allocatable.find(model::kBatchMemory);
}

bool carries_the_same(const kube::Node* a, const kube::Node* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return same_texts(a->meta.annotations, b->meta.annotations, kWritten);
}

Result<PodRow> decode_pod_row(std::string_view bytes, kube::Interner& interner) {
  static const kube::PodFields fields = pod_fields();
  TM_TRY(kube::Pod pod, kube::decode_pod(bytes, fields, interner));
  return PodRow{meta_of(pod), std::move(pod.node_name), kube::batch_request(pod)};
}

std::string nm_pod_selector() {
  return base::cat(model::kYarnComponentLabel, "=", model::kYarnNodeManager);
}

Result<NmPodRow> decode_nm_pod_row(std::string_view bytes, kube::Interner& interner) {
  static const kube::PodFields fields = nm_pod_fields();
  TM_TRY(kube::Pod pod, kube::decode_pod(bytes, fields, interner));
  NmPodRow row{meta_of(pod), std::move(pod.node_name), {}, {}};
  if (const kube::Text* id = pod.meta.annotations.find(model::kYarnNodeIdAnnotation)) row.id = *id;
  if (const kube::Text* cluster = pod.meta.annotations.find(model::kYarnClusterIdAnnotation)) row.cluster = *cluster;
  return row;
}

kube::NodeFields node_fields() {
  kube::NodeFields fields;
  fields.meta.labels = kube::KeyFilter::all();  // pools can select nodes by any label
  fields.meta.annotations = {model::kOriginAllocatableAnnotation,
                             model::kThirdPartyAllocationsAnnotation,
                             model::kStateDetailAnnotation,
                             model::kYarnNodeIdAnnotation,
                             model::kYarnClusterIdAnnotation,
                             model::kYarnOfferAnnotation,
                             model::kYarnBookAnnotation,
                             model::kYarnReclaimAnnotation,
                             model::kYarnReclaimAnswerAnnotation,
                             model::kYarnPreemptedAnnotation,
                             kYarnBookOfAnnotation};
  fields.info = true;  // includes the internal address
  return fields;
}

Result<kube::Node> decode_node(std::string_view bytes, kube::Interner& interner) {
  static const kube::NodeFields fields = node_fields();
  TM_TRY(kube::Node node, kube::decode_node(bytes, fields, interner));
  // Thousands of nodes are stored, so unused fields are dropped.
  kube::Node row;
  row.meta = std::move(node.meta);
  for (const std::string_view name : {model::kBatchCpu, model::kBatchMemory}) {
    if (const auto amount = node.allocatable.find(name)) row.allocatable.set(interner.intern(name), *amount);
  }
  if (const kube::NodeCondition* ready = node.condition(kReady)) row.conditions.push_back(*ready);
  row.unschedulable = node.unschedulable;
  row.internal_ip = std::move(node.internal_ip);
  return row;
}

NodePlace place_of(const kube::Node& node) {
  return {std::string(node.meta.name),
          std::string(node.meta.labels.get(kHostNameLabel)),
          std::string(node.internal_ip),
          {std::string(node.meta.annotations.get(model::kYarnNodeIdAnnotation)),
           std::string(node.meta.annotations.get(model::kYarnClusterIdAnnotation))},
          parse_nm_name(node.meta.annotations.get(kYarnBookOfAnnotation))};
}

NmPod nm_pod_of(const NmPodRow& pod) {
  return {base::cat(pod.meta.ns.view(), "/", pod.meta.name.view()),
          std::string(pod.node),
          {std::string(pod.id), std::string(pod.cluster)}};
}

namespace {

policy::state::NodeMarks marks_of(const kube::Node& node) {
  return policy::state::read_marks(text_of(node.meta.labels, model::kStateLabel),
                                   text_of(node.meta.annotations, model::kStateDetailAnnotation))
      .marks;
}

}  // namespace

std::optional<policy::evict::EvictionOrder> eviction_order(const kube::Node& node, base::WallTime now) {
  return policy::state::eviction_order(marks_of(node), now);
}

model::NodeState yarn_state_of(const kube::Node& node, model::Mode mode, std::string_view work_class,
                               base::WallTime now) {
  const policy::state::EffectiveState state = policy::state::effective(marks_of(node), mode, now);
  const bool class_off = std::ranges::find(state.classes_off, work_class) != state.classes_off.end();
  return state.yarn == model::NodeState::kOn && class_off ? model::NodeState::kDraining : state.yarn;
}

Result<policy::sell::YarnNode> share_of(const kube::Node& node, model::Resources pods, model::Mode mode,
                                        std::string_view work_class, base::WallTime now) {
  policy::sell::YarnNode share;
  TM_TRY(share.origin, origin_of(node));
  if (const auto text = text_of(node.meta.annotations, model::kYarnOfferAnnotation)) {
    auto offer = model::parse_yarn_offer(*text);
    if (!offer) return fail(std::move(offer).error().within(model::kYarnOfferAnnotation));
    share.offer = offer->offer;
  }
  share.pods = pods;
  // Unreadable text is dropped completely, including YARN's entry.
  if (const auto text = text_of(node.meta.annotations, model::kThirdPartyAllocationsAnnotation)) {
    if (const auto held = model::parse_third_party_allocations(*text))
      share.others = policy::sell::held_by_others(*held);
  }
  share.ready = node.ready() == kube::Truth::kTrue;
  share.cordoned = node.unschedulable;
  share.state = yarn_state_of(node, mode, work_class, now);
  return share;
}

std::optional<model::YarnOffer> offer_on(const kube::Node& node) {
  const auto text = text_of(node.meta.annotations, model::kYarnOfferAnnotation);
  const auto offer = text ? model::parse_yarn_offer(*text) : fail(ErrorKind::kNotFound);
  return offer ? std::optional(*offer) : std::nullopt;
}

std::int64_t offer_generation(const kube::Node& node) {
  const auto offer = offer_on(node);
  return offer ? offer->generation : 0;
}

}  // namespace tidemark::yarn_operator
