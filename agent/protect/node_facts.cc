#include "agent/protect/node_facts.h"

#include <algorithm>
#include <utility>

#include "agent/protect/status.h"
#include "base/json.h"
#include "base/text.h"
#include "model/annotations.h"
#include "model/ended_tasks.h"
#include "model/isolation.h"
#include "model/names.h"
#include "model/oversold.h"
#include "model/yarn_reclaim.h"

namespace tidemark::agent {
namespace {

constexpr std::int64_t kNormalizationPercentMin = 100, kNormalizationPercentMax = 500;  // contract 1.5

std::optional<std::string_view> view(const kube::Text* text) {
  return text == nullptr ? std::nullopt : std::optional(text->view());
}

Result<std::vector<std::int32_t>> cpus_in(std::string_view text, std::string_view member) {
  TM_TRY(const Json json, Json::parse(text));
  TM_TRY(const linux::CpuSet set, linux::CpuSet::parse(json.text_at(member)));
  return cpus_of(set);
}

// "1.25" as 125: two decimals, as the manager writes it.
std::optional<std::int64_t> percent_of(std::string_view ratio) {
  const auto point = ratio.find('.');
  const auto whole = base::parse_int(ratio.substr(0, point));
  if (!whole || *whole < 0 || *whole > kNormalizationPercentMax / 100) return std::nullopt;
  std::string part(point == std::string_view::npos ? "" : ratio.substr(point + 1));
  if (part.size() > 2) return std::nullopt;
  part.resize(2, '0');
  const auto hundredths = base::parse_int(part);
  if (!hundredths || *hundredths < 0) return std::nullopt;
  return *whole * 100 + *hundredths;
}

// An exclusive set is the default (contract 1.5).
Result<std::vector<std::int32_t>> exclusive_cpus(std::string_view text) {
  TM_TRY(const Json json, Json::parse(text));
  const Json* exclusive = json.member("cpusetExclusive");
  if (exclusive != nullptr && exclusive->is_bool() && !exclusive->as_bool()) return std::vector<std::int32_t>();
  return cpus_in(text, "cpuset");
}

}  // namespace

std::vector<std::int32_t> cpus_of(const linux::CpuSet& set) {
  std::vector<std::int32_t> out;
  for (int cpu = set.next(0); cpu >= 0; cpu = set.next(cpu + 1)) out.push_back(cpu);
  return out;
}

kube::NodeFields node_facts_fields() {
  kube::NodeFields fields;
  fields.meta.labels = {model::kStateLabel};
  fields.meta.annotations = {model::kRawAllocatableAnnotation,     model::kStateDetailAnnotation,
                             model::kReservationAnnotation,        model::kSystemQosAnnotation,
                             model::kNormalizationRatioAnnotation, model::kOriginAllocatableAnnotation,
                             model::kOversoldAnnotation,           model::kYarnReclaimAnnotation,
                             model::kYarnReclaimAnswerAnnotation,  model::kEndedTasksAnnotation};
  fields.info = false;
  fields.condition_messages = {model::kIsolationCondition};
  return fields;
}

NodeFacts node_facts(const kube::Node& node) {
  NodeFacts facts;
  facts.size = node_size(node);
  if (facts.size.unreadable) facts.unreadable.push_back(*facts.size.unreadable);
  facts.kubelet_reserved = {
      {std::max<std::int64_t>(facts.size.capacity.cpu.value - facts.size.allocatable.cpu.value, 0)},
      {std::max<std::int64_t>(facts.size.capacity.memory.value - facts.size.allocatable.memory.value, 0)}};
  const auto offered = [&](std::string_view cpu, std::string_view memory) {
    model::SaidAmounts out;
    if (const auto amount = node.allocatable.find(cpu)) out.cpu = model::CpuMilli{*amount};
    if (const auto amount = node.allocatable.find(memory)) out.memory = model::MemoryBytes{*amount};
    return out;
  };
  facts.native = offered("cpu", "memory");
  facts.batch = offered(model::kBatchCpu, model::kBatchMemory);
  facts.mid = offered(model::kMidCpu, model::kMidMemory);
  const auto& annotations = node.meta.annotations;
  const auto note = [&](Error error, std::string_view key) {
    facts.unreadable.push_back(std::move(error).within(key));
  };
  if (const auto text = view(annotations.find(model::kReservationAnnotation))) {
    auto reserved = model::parse_reservation(*text);
    auto cpus = cpus_in(*text, "reservedCPUs");
    if (reserved && cpus) {
      facts.reserved = *reserved;
      facts.reserved_cpus = std::move(*cpus);
    } else {
      note(reserved ? std::move(cpus).error() : std::move(reserved).error(), model::kReservationAnnotation);
    }
  }
  if (const auto text = view(annotations.find(model::kSystemQosAnnotation))) {
    auto cpus = exclusive_cpus(*text);
    if (cpus) {
      facts.system_cpus = std::move(*cpus);
    } else {
      note(std::move(cpus).error(), model::kSystemQosAnnotation);
    }
  }
  if (const auto text = view(annotations.find(model::kNormalizationRatioAnnotation))) {
    const auto percent = percent_of(*text);
    if (percent && *percent >= kNormalizationPercentMin && *percent <= kNormalizationPercentMax) {
      facts.normalization_percent = *percent;
    } else {
      note({ErrorKind::kInvalid, base::cat("wanted 1.00 to 5.00, found ", base::in_quotes(*text)), 0, 0},
           model::kNormalizationRatioAnnotation);
    }
  }
  if (const auto text = view(annotations.find(model::kOversoldAnnotation))) {
    facts.oversold = true;
    facts.oversold_since = model::oversold_since(*text);
  }
  if (const auto text = view(annotations.find(model::kOriginAllocatableAnnotation))) {
    if (auto origin = model::parse_origin(*text)) {
      facts.origin = *origin;
    } else {
      note(std::move(origin).error(), model::kOriginAllocatableAnnotation);
    }
  }
  facts.state = policy::state::read_marks(view(node.meta.labels.find(model::kStateLabel)),
                                          view(annotations.find(model::kStateDetailAnnotation)));
  return facts;
}

}  // namespace tidemark::agent
