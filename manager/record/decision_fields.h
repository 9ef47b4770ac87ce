// The fields of a recorded decision, one list for writing and reading. A structured binding names all members of a
// struct, so a member that is added there does not compile here: add it to the list, raise kRecordSchema
// (manager/record/decision_record.h), and read it with since().
#pragma once

#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "journal/record.h"
#include "manager/record/decision_record.h"

namespace tidemark::manager {

class FieldWriter : public journal::Packer {
 public:
  using journal::Packer::Packer;
  static constexpr std::int64_t kSchema = kRecordSchema;
  void reason(model::Reason reason) { natural(static_cast<std::uint64_t>(reason)); }
};

class FieldReader : public journal::Unpacker {
 public:
  FieldReader(std::string_view bytes, const std::vector<std::optional<model::Reason>>& reasons,
              std::int64_t schema = kRecordSchema)
      : Unpacker(bytes), reasons_(reasons), schema_(schema) {}
  std::int64_t schema() const { return schema_; }
  model::Reason reason() {
    const std::uint64_t number = natural();
    if (number < reasons_.size() && reasons_[number]) return *reasons_[number];
    fail();
    return model::Reason::kPublished;
  }

 private:
  const std::vector<std::optional<model::Reason>>& reasons_;
  std::int64_t schema_;
};

// `Is<T>`: T or const T, by whether it is read or written.
template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <class E>
constexpr E last_of();
template <>
constexpr model::PodPhase last_of() {
  return model::PodPhase::kFailed;
}
template <>
constexpr model::PriorityClass last_of() {
  return model::PriorityClass::kFree;
}
template <>
constexpr model::Qos last_of() {
  return model::Qos::kSystem;
}
template <>
constexpr model::Quantity::Format last_of() {
  return model::Quantity::Format::kDecimalExponent;
}
template <>
constexpr model::CalculatePolicy last_of() {
  return model::CalculatePolicy::kMaxUsageRequest;
}
template <>
constexpr model::MidReclaimMode last_of() {
  return model::MidReclaimMode::kStatic;
}
template <>
constexpr policy::sell::PlanAction last_of() {
  return policy::sell::PlanAction::kHold;
}
template <>
constexpr policy::sell::AnnotationAction last_of() {
  return policy::sell::AnnotationAction::kRemove;
}
template <>
constexpr model::Profile last_of() {
  return model::Profile::kTidemark;
}
template <>
constexpr model::LinePhase last_of() {
  return model::LinePhase::kOverridden;
}
template <>
constexpr policy::sell::Freshness last_of() {
  return policy::sell::Freshness::kForgotten;
}
template <>
constexpr model::NodeState last_of() {
  return model::NodeState::kOff;
}
template <>
constexpr RecordedResult last_of() {
  return RecordedResult::kFailed;
}

template <class A, class T>
  requires(std::integral<std::remove_const_t<T>>)
void io(A& a, T& value) {
  if constexpr (!A::kReads) {
    a.number(static_cast<std::int64_t>(value));
  } else {
    const std::int64_t number = a.number();
    if (!std::in_range<std::conditional_t<std::same_as<T, bool>, std::uint8_t, T>>(number) ||
        (std::same_as<T, bool> && number > 1)) {
      return a.fail();
    }
    value = static_cast<T>(number);
  }
}

template <class A, class T>
  requires(std::floating_point<std::remove_const_t<T>>)
void io(A& a, T& value) {
  if constexpr (A::kReads) {
    value = std::bit_cast<double>(a.natural());
  } else {
    a.natural(std::bit_cast<std::uint64_t>(value));
  }
}

template <class A, class T>
  requires(std::is_enum_v<std::remove_const_t<T>>)
void io(A& a, T& value) {
  if constexpr (Is<T, model::Reason>) {
    if constexpr (A::kReads) {
      value = a.reason();
    } else {
      a.reason(value);
    }
  } else if constexpr (A::kReads) {
    const std::uint64_t number = a.natural();
    if (number > static_cast<std::uint64_t>(last_of<T>())) return a.fail();
    value = static_cast<T>(number);
  } else {
    a.natural(static_cast<std::uint64_t>(value));
  }
}

void io(auto& a, Is<std::string> auto& text) {
  if constexpr (std::remove_reference_t<decltype(a)>::kReads) {
    text = a.text();
  } else {
    a.text(text);
  }
}

template <class A, class Rep, class Period>
void io(A& a, std::chrono::duration<Rep, Period>& value) {
  value = std::chrono::duration<Rep, Period>(a.number());
}
template <class A, class Rep, class Period>
void io(A& a, const std::chrono::duration<Rep, Period>& value) {
  a.number(value.count());
}
void io(auto& a, Is<base::WallTime> auto& value) {
  io(a, value.since_epoch);
}
void io(auto& a, Is<base::MonotonicTime> auto& value) {
  io(a, value.since_start);
}

template <class A, class Unit>
void io(A& a, model::Amount<Unit>& amount) {
  io(a, amount.value);
}
template <class A, class Unit>
void io(A& a, const model::Amount<Unit>& amount) {
  io(a, amount.value);
}

// Declared ahead of the containers, which look them up where they are used.
void io(auto& a, Is<model::Resources> auto& value);
void io(auto& a, Is<model::PodUsage> auto& value);
void io(auto& a, Is<model::HostApplicationUsage> auto& value);
void io(auto& a, Is<model::NodeMetricView> auto& value);
void io(auto& a, Is<model::ThirdPartyAllocation> auto& value);
void io(auto& a, Is<model::CpuBasicInfo> auto& value);
void io(auto& a, Is<model::ZoneView> auto& value);
void io(auto& a, Is<model::TopologyView> auto& value);
void io(auto& a, Is<model::PodView> auto& value);
void io(auto& a, Is<model::WarmUp> auto& value);
void io(auto& a, Is<policy::sell::ClassSold> auto& value);
void io(auto& a, Is<policy::sell::Waiting::Level> auto& value);
void io(auto& a, Is<policy::sell::Waiting> auto& value);
void io(auto& a, Is<policy::sell::BookSeen> auto& value);
void io(auto& a, Is<policy::sell::TakenOff> auto& value);
void io(auto& a, Is<policy::sell::ArbitrateState> auto& value);
void io(auto& a, Is<policy::sell::ArbitratePlan> auto& value);
template <class A, class Amount>
void io(A& a, policy::sell::ClassTerms<Amount>& value);
template <class A, class Amount>
void io(A& a, const policy::sell::ClassTerms<Amount>& value);
void io(auto& a, Is<policy::sell::ClassReclaim> auto& value);
void io(auto& a, Is<policy::sell::ZonePlan> auto& value);
void io(auto& a, Is<policy::sell::AmplifiedResource> auto& value);
void io(auto& a, Is<model::LinePlan> auto& value);
void io(auto& a, Is<policy::waterline::LineOverride> auto& value);
void io(auto& a, Is<policy::sell::MotionPlan> auto& value);
void io(auto& a, Is<policy::sell::LedgerPlan> auto& value);
void io(auto& a, Is<policy::sell::StopTerms> auto& value);
template <class A, class Fine>
void io(A& a, model::ZoneAmounts<Fine>& value);
template <class A, class Fine>
void io(A& a, const model::ZoneAmounts<Fine>& value);

template <class A, class T>
void io(A& a, std::optional<T>& value) {
  bool there = false;
  io(a, there);
  value.reset();
  if (there && a.ok()) io(a, value.emplace());
}
template <class A, class T>
void io(A& a, const std::optional<T>& value) {
  const bool there = value.has_value();
  io(a, there);
  if (there) io(a, *value);
}

template <class A, class T>
void io(A& a, std::vector<T>& values) {
  std::uint64_t count = a.natural();
  if (count > a.left()) return a.fail();  // each takes a byte at least
  values.clear();
  for (; count > 0 && a.ok(); --count) io(a, values.emplace_back());
}
template <class A, class T>
void io(A& a, const std::vector<T>& values) {
  a.natural(values.size());
  for (const T& value : values) io(a, value);
}

void all(auto& a, auto&... values) {
  (io(a, values), ...);
}

// Fields that records of an older schema do not have: they keep their defaults.
template <class A, class... Values>
void since(A& a, std::int64_t schema, Values&... values) {
  if constexpr (A::kReads) {
    if (a.schema() < schema) return;
  } else {
    if (A::kSchema < schema) return;
  }
  all(a, values...);
}

// ---- what goes in ----

void io(auto& a, Is<model::Resources> auto& value) {
  auto& [cpu, memory] = value;
  all(a, cpu, memory);
}
void io(auto& a, Is<kube::TextMap> auto& labels) {
  if constexpr (std::remove_reference_t<decltype(a)>::kReads) {
    std::uint64_t count = a.natural();
    if (count > a.left()) return a.fail();  // each takes a byte at least
    for (; count > 0 && a.ok(); --count) {
      const std::string_view key = a.text();
      labels.set(kube::Text::plain(key), kube::Text::plain(a.text()));
    }
  } else {
    a.natural(labels.size());
    for (const auto& [key, value] : labels) {
      a.text(key);
      a.text(value);
    }
  }
}
// Their ids were made small numbers, in the order of the ids (canonical()).
void io(auto& a, Is<model::PodId> auto& value) {
  if constexpr (std::remove_reference_t<decltype(a)>::kReads) {
    value.low = a.natural();
  } else {
    a.natural(value.low);
  }
}
void io(auto& a, Is<model::WarmUp> auto& value) {
  auto& [left, expected] = value;
  all(a, left, expected);
}
void io(auto& a, Is<model::PodView> auto& value) {
  auto& [id, phase, priority, qos, request, numa_nodes, warm_up] = value;
  all(a, id, phase, priority, qos, request, numa_nodes, warm_up);
}
void io(auto& a, Is<model::PodUsage> auto& value) {
  auto& [id, usage, priority, qos] = value;
  all(a, id, usage, priority, qos);
}
void io(auto& a, Is<model::HostApplicationUsage> auto& value) {
  auto& [name, usage, priority, qos] = value;
  all(a, name, usage, priority, qos);
}
void io(auto& a, Is<model::NodeMetricView> auto& value) {
  auto& [update_time, has_node_metric, node_usage, system_usage, pods, host_applications, prod_reclaimable,
         below_zero] = value;
  all(a, update_time, has_node_metric, node_usage, system_usage, pods, host_applications, prod_reclaimable, below_zero);
}
void io(auto& a, Is<model::ThirdPartyAllocation> auto& value) {
  auto& [name, priority, resources] = value;
  all(a, name, priority, resources);
}
void io(auto& a, Is<model::ExtendedResources> auto& value) {
  auto& [batch_cpu, batch_memory, mid_cpu, mid_memory] = value;
  all(a, batch_cpu, batch_memory, mid_cpu, mid_memory);
}
void io(auto& a, Is<model::CpuBasicInfo> auto& value) {
  auto& [model, hyper_thread, turbo] = value;
  all(a, model, hyper_thread, turbo);
}
template <class A, class Fine>
void io(A& a, model::ZoneAmounts<Fine>& value) {
  auto& [capacity, allocatable, available] = value;
  all(a, capacity, allocatable, available);
}
template <class A, class Fine>
void io(A& a, const model::ZoneAmounts<Fine>& value) {
  auto& [capacity, allocatable, available] = value;
  all(a, capacity, allocatable, available);
}
void io(auto& a, Is<model::ZoneView> auto& value) {
  auto& [name, cpu, memory, memory_format, batch_cpu, batch_memory] = value;
  all(a, name, cpu, memory, memory_format, batch_cpu, batch_memory);
}
void io(auto& a, Is<model::TopologyView> auto& value) {
  auto& [zones, cpu, cpu_info_unreadable] = value;
  all(a, zones, cpu, cpu_info_unreadable);
}
void io(auto& a, Is<model::NodeSnapshot> auto& value) {
  auto& [name, capacity, allocatable, published, origin, reserved, reservation_unreadable, third_party, pods, metric,
         topology, normalization, amplification] = value;
  all(a, capacity, allocatable, published, origin, reserved, reservation_unreadable, third_party, pods, metric,
      topology, normalization, amplification);
  static_cast<void>(name);  // at the head of the record
}
void io(auto& a, Is<policy::sell::PluginSet> auto& value) {
  auto& [batch, mid, normalization, amplification, gpu, rdma] = value;
  all(a, batch, mid, normalization, amplification, gpu, rdma);
}
void io(auto& a, Is<policy::sell::OfferState> auto& value) {
  auto& [motion, kubernetes, yarn, yarn_book, kubernetes_off, yarn_off, arbitrate] = value;
  static_cast<void>(kubernetes);  // with the books, as the rest
  static_cast<void>(yarn);
  static_cast<void>(yarn_book);
  static_cast<void>(kubernetes_off);
  static_cast<void>(yarn_off);
  static_cast<void>(arbitrate);
  auto& [offered, changed_at, stamp, stamp_at, stamp_moved, held] = motion;
  all(a, offered, changed_at, stamp, stamp_at, stamp_moved, held);
}

void io(auto& a, Is<policy::waterline::LineOverride> auto& value) {
  auto& [line, until, who, why, since] = value;
  all(a, line.cpu, line.memory, until, who, why, since);
}
void io(auto& a, Is<policy::state::SideStates> auto& value) {
  auto& [k8s, yarn, classes_off, classes_drained] = value;
  all(a, k8s, yarn, classes_off, classes_drained);
}
void io(auto& a, Is<policy::sell::PoolGuard> auto& value) {
  auto& [stopped, truthful] = value;
  all(a, stopped, truthful);
}

void io(auto& a, Is<policy::sell::ClassSold> auto& value) {
  auto& [order, amount, work_class] = value;
  all(a, order, amount, work_class);
}
void io(auto& a, Is<policy::sell::SideBook> auto& value) {
  auto& [sold, in_flight, told, confirmed, wants_more, withdrawn, best_order, waits_class, waits_for, taken_off] =
      value;
  all(a, sold, in_flight, told, confirmed, wants_more, withdrawn, best_order, waits_class, waits_for, taken_off);
}
// All bits of a hash.
template <class A, class T>
void mark(A& a, T& value) {
  if constexpr (A::kReads) {
    value = a.natural();
  } else {
    a.natural(value);
  }
}
void io(auto& a, Is<policy::sell::BookSeen> auto& value) {
  auto& [seen, at] = value;
  mark(a, seen);
  io(a, at);
}
void io(auto& a, Is<policy::sell::TakenOff> auto& value) {
  auto& [looked, told, in_told, decided, in_decided] = value;
  all(a, looked, told, in_told, decided, in_decided);
}
void io(auto& a, Is<policy::sell::ArbitrateState> auto& value) {
  auto& [looked, rejecting, rest, fits_since] = value;
  all(a, looked, rejecting, rest, fits_since);
}
void io(auto& a, Is<policy::sell::BindLag> auto& value) {
  auto& [told, most, fell_at, seen] = value;
  all(a, told, most, fell_at, seen);
}
void io(auto& a, Is<policy::sell::Waiting::Level> auto& value) {
  auto& [order, since, seen, counts, work_class] = value;
  all(a, order, since, seen, counts, work_class);
}
void io(auto& a, Is<policy::sell::Waiting> auto& value) {
  auto& [levels, wants_more, best_order, best_class, amount] = value;
  all(a, levels, wants_more, best_order, best_class, amount);
}

// ---- what comes out ----

template <class A, class Terms>
void water_line(A& a, Terms& terms) {
  all(a, terms.capacity, terms.margin, terms.system_used, terms.reserved_by_kubelet, terms.reserved_by_annotation,
      terms.reserved, terms.reserved_by, terms.high_priority, terms.policy, terms.left, terms.cap, terms.allowed,
      terms.origin_by);
}
template <class A, class Terms>
void batch_terms(A& a, Terms& terms) {
  water_line(a, terms);
  all(a, terms.ratio_percent, terms.origin, terms.third_party, terms.third_party_by, terms.published);
}
void mid_terms(auto& a, auto& terms) {
  auto& [capacity, prod_reclaimable, node_unused, base, reserved, reserved_by, prod_request, unallocated, share,
         static_share, cap, reason, published] = terms;
  all(a, capacity, prod_reclaimable, node_unused, base, reserved, reserved_by, prod_request, unallocated, share,
      static_share, cap, reason, published);
}
void io(auto& a, Is<policy::sell::ZonePlan> auto& value) {
  auto& [name, cpu, memory, third_party_cpu, third_party_memory, batch_cpu, batch_memory, memory_format] = value;
  io(a, name);
  water_line(a, cpu);
  water_line(a, memory);
  all(a, third_party_cpu, third_party_memory, batch_cpu, batch_memory, memory_format);
}
void io(auto& a, Is<policy::sell::AmplifiedResource> auto& value) {
  auto& [resource, configured, ratio] = value;
  all(a, resource, configured, ratio);
}
void io(auto& a, Is<policy::sell::OvercommitPlan> auto& value) {
  auto& [action, reason, publish, origin, batch_cpu, batch_memory, mid_cpu, mid_memory, warm_up, zones, normalization,
         amplification, safeguards] = value;
  all(a, action, reason, publish, origin, warm_up.pods, warm_up.by_request, warm_up.added, warm_up.added_to_max);
  batch_terms(a, batch_cpu);
  batch_terms(a, batch_memory);
  mid_terms(a, mid_cpu);
  mid_terms(a, mid_memory);
  auto& [zones_reason, zone_list, counted_once] = zones;
  all(a, zones_reason, zone_list, counted_once);
  auto& [ratio_reason, ratio_percent, annotate] = normalization;
  all(a, ratio_reason, ratio_percent, annotate);
  auto& [amplification_reason, amplification_action, text, ratios, normalization_ratio] = amplification;
  all(a, amplification_reason, amplification_action, text, ratios, normalization_ratio, safeguards);
}
void io(auto& a, Is<model::ColocationStrategy> auto& value) {
  auto& [enable, aggregate_s, report_s, durations, collect, cpu_threshold, cpu_policy, memory_threshold, memory_policy,
         degrade, update, diff, mid_mode, mid_cpu, mid_memory, mid_unallocated, static_cpu, static_memory, batch_cpu,
         batch_memory] = value;
  all(a, enable, aggregate_s, report_s, durations, collect, cpu_threshold, cpu_policy, memory_threshold, memory_policy,
      degrade, update, diff, mid_mode, mid_cpu, mid_memory, mid_unallocated, static_cpu, static_memory, batch_cpu,
      batch_memory);
}
void line_terms(auto& a, auto& terms) {
  auto& [base, hold, sell, phase, entry, reason] = terms;
  all(a, base, hold, sell, phase, entry, reason);
}
void io(auto& a, Is<model::LinePlan> auto& value) {
  auto& [cpu, memory, changes_at] = value;
  line_terms(a, cpu);
  line_terms(a, memory);
  io(a, changes_at);
}
void io(auto& a, Is<policy::sell::MotionPlan> auto& value) {
  auto& [freshness, cpu, memory, again_after] = value;
  all(a, freshness, cpu.offered, cpu.reason, memory.offered, memory.reason, again_after);
}
void class_terms(auto& a, auto& value) {
  auto& [work_class, waits, told, real, percent, entry] = value;
  all(a, work_class, waits, told, real, percent, entry);
}
template <class A, class Amount>
void io(A& a, policy::sell::ClassTerms<Amount>& value) {
  class_terms(a, value);
}
template <class A, class Amount>
void io(A& a, const policy::sell::ClassTerms<Amount>& value) {
  class_terms(a, value);
}
void io(auto& a, Is<policy::sell::ClassReclaim> auto& value) {
  auto& [work_class, amount, keep, reason] = value;
  all(a, work_class, amount, keep, reason);
}
void side_terms(auto& a, auto& terms) {
  auto& [held, taken, taken_by, real, offer, reason, reclaim, classes] = terms;
  all(a, held, taken, taken_by, real, offer, reason, reclaim, classes);
}
void side_plan(auto& a, auto& side) {
  auto& [cpu, memory, reclaim] = side;
  side_terms(a, cpu);
  side_terms(a, memory);
  io(a, reclaim);
}
void io(auto& a, Is<policy::sell::LedgerPlan> auto& value) {
  auto& [kubernetes, yarn] = value;
  side_plan(a, kubernetes);
  side_plan(a, yarn);
}
void io(auto& a, Is<policy::sell::StopTerms> auto& value) {
  auto& [sold, yarn, wanted] = value;
  all(a, sold, yarn, wanted);
}
void io(auto& a, Is<policy::sell::ArbitratePlan> auto& value) {
  auto& [reason, held, gives, excess] = value;
  all(a, reason, held, gives, excess);
}
void io(auto& a, Is<OnTheNode> auto& value) {
  auto& [action, write, publish, origin, zones, yarn_offer, kubernetes_reclaim, yarn_reclaim] = value;
  all(a, action, write, publish, origin, zones, yarn_offer, kubernetes_reclaim, yarn_reclaim);
}
void io(auto& a, Is<DecisionOutcome> auto& value) {
  auto& [plan, values, enabled, strategy_reason, ignored, profile, line, motion, ledger, yarn_offer, again_after,
         truthful, stopped, arbitrate, rejected, backs_off, on_node] = value;
  all(a, plan, values, enabled, strategy_reason, ignored, profile, line, motion, ledger, yarn_offer, again_after,
      truthful, stopped, arbitrate, rejected, backs_off);
  since(a, kRecordSchemaOrders, on_node);
}
void io(auto& a, Is<DecisionDone> auto& value) {
  auto& [action, publish, state, why, result, error, epoch] = value;
  all(a, action, publish, state, why, result, error, epoch);
}

}  // namespace tidemark::manager
