#include "model/qos.h"

#include <array>
#include <utility>

namespace tidemark::model {
namespace {

constexpr std::array<std::pair<std::string_view, Qos>, 5> kQosNames{
    {{"LSE", Qos::kLse}, {"LSR", Qos::kLsr}, {"LS", Qos::kLs}, {"BE", Qos::kBe}, {"SYSTEM", Qos::kSystem}}};

constexpr std::array<std::pair<std::string_view, KubeQos>, 3> kKubeQosNames{
    {{"Guaranteed", KubeQos::kGuaranteed}, {"Burstable", KubeQos::kBurstable}, {"BestEffort", KubeQos::kBestEffort}}};

struct Band {
  std::string_view name;
  PriorityClass priority_class;
  std::int32_t lowest;
  std::int32_t highest;
  std::int32_t fallback;
};
constexpr std::array<Band, 4> kBands{{{"koord-prod", PriorityClass::kProd, 9000, 9999, 9500},
                                      {"koord-mid", PriorityClass::kMid, 7000, 7999, 7500},
                                      {"koord-batch", PriorityClass::kBatch, 5000, 5999, 5500},
                                      {"koord-free", PriorityClass::kFree, 3000, 3999, 3500}}};

template <class Table, class Value>
std::string_view name_of(const Table& table, Value value) {
  for (const auto& [name, each] : table) {
    if (each == value) return name;
  }
  return "";
}

}  // namespace

Qos parse_qos(std::string_view text) {
  for (const auto& [name, qos] : kQosNames) {
    if (name == text) return qos;
  }
  return Qos::kNone;
}

std::string_view to_string(Qos qos) {
  return name_of(kQosNames, qos);
}

PriorityClass parse_priority_class(std::string_view text) {
  for (const Band& band : kBands) {
    if (band.name == text) return band.priority_class;
  }
  return PriorityClass::kNone;
}

std::string_view to_string(PriorityClass priority_class) {
  for (const Band& band : kBands) {
    if (band.priority_class == priority_class) return band.name;
  }
  return "";
}

std::optional<KubeQos> parse_kube_qos(std::string_view text) {
  for (const auto& [name, qos] : kKubeQosNames) {
    if (name == text) return qos;
  }
  return std::nullopt;
}

std::string_view to_string(KubeQos qos) {
  return name_of(kKubeQosNames, qos);
}

Qos qos_with_default(Qos raw, KubeQos kube) {
  if (raw != Qos::kNone) return raw;
  switch (kube) {
    case KubeQos::kGuaranteed:
      return Qos::kLsr;
    case KubeQos::kBurstable:
      return Qos::kLs;
    case KubeQos::kBestEffort:
      return Qos::kBe;
  }
  return Qos::kNone;
}

PriorityClass priority_class_of(std::int32_t priority) {
  for (const Band& band : kBands) {
    if (priority >= band.lowest && priority <= band.highest) return band.priority_class;
  }
  return PriorityClass::kNone;
}

PriorityClass priority_class_raw(std::optional<std::string_view> label, std::optional<std::int32_t> priority) {
  if (label) return parse_priority_class(*label);
  return priority ? priority_class_of(*priority) : PriorityClass::kNone;
}

PriorityClass priority_class_with_default(PriorityClass raw, Qos with_default) {
  if (raw != PriorityClass::kNone) return raw;
  switch (with_default) {
    case Qos::kSystem:
    case Qos::kLse:
    case Qos::kLsr:
    case Qos::kLs:
      return PriorityClass::kProd;
    case Qos::kBe:
      return PriorityClass::kBatch;
    case Qos::kNone:
      return PriorityClass::kNone;
  }
  return PriorityClass::kNone;
}

bool is_offline(Qos raw, PriorityClass priority_raw) {
  return raw == Qos::kBe || priority_raw == PriorityClass::kBatch || priority_raw == PriorityClass::kMid ||
         priority_raw == PriorityClass::kFree;
}

std::int32_t default_priority(PriorityClass priority_class) {
  for (const Band& band : kBands) {
    if (band.priority_class == priority_class) return band.fallback;
  }
  return 0;
}

std::int32_t priority_with_default(std::optional<std::int32_t> priority, PriorityClass with_default) {
  if (priority && *priority != 0) return *priority;
  return default_priority(with_default);
}

}  // namespace tidemark::model
