// QoS classes and priority bands of pods, and two readers: raw (the pod's own label) and with default (the value if
// there is none). Contract 1.1 defines which rule uses which reader; the wrong one makes an unlabelled pod a victim.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::model {

enum class Qos : std::uint8_t { kNone, kLse, kLsr, kLs, kBe, kSystem };
enum class PriorityClass : std::uint8_t { kNone, kProd, kMid, kBatch, kFree };
enum class KubeQos : std::uint8_t { kGuaranteed, kBurstable, kBestEffort };

// The text of the label `koordinator.sh/qosClass`; case matters; kNone for an unknown text.
Qos parse_qos(std::string_view text);
std::string_view to_string(Qos);
// "koord-prod" …; kNone for an unknown text.
PriorityClass parse_priority_class(std::string_view text);
std::string_view to_string(PriorityClass);
// status.qosClass; nullopt if unset or unknown: then compute it (model/pod.h).
std::optional<KubeQos> parse_kube_qos(std::string_view text);
std::string_view to_string(KubeQos);

// With default: the label's class, or what Kubernetes' own class stands for.
Qos qos_with_default(Qos raw, KubeQos kube);

// Raw: the label `koordinator.sh/priority-class` where it is there (unknown text gives none and does not fall through
// to the number), otherwise spec.priority by its band.
PriorityClass priority_class_raw(std::optional<std::string_view> label, std::optional<std::int32_t> priority);
PriorityClass priority_class_of(std::int32_t priority);
// With default: raw, or what the QoS class stands for.
PriorityClass priority_class_with_default(PriorityClass raw, Qos with_default);
// Whether the labels of a task say that it is offline: QoS BE, or priority mid, batch or free.
bool is_offline(Qos raw, PriorityClass priority_raw);
// What a pod of this class has as its number when it has none of its own; 0 for none.
std::int32_t default_priority(PriorityClass);
// spec.priority if it is set and not 0, otherwise the class's.
std::int32_t priority_with_default(std::optional<std::int32_t> priority, PriorityClass with_default);

}  // namespace tidemark::model
