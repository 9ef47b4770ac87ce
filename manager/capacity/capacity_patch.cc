#include "manager/capacity/capacity_patch.h"

#include "base/json.h"
#include "base/text.h"
#include "kube/convert.h"
#include "model/annotations.h"
#include "model/names.h"
#include "model/oversold.h"

namespace tidemark::manager {
namespace {

// Quantities are plain integers: batch-cpu counts milli-cores, batch-memory bytes.
template <class Amount>
void write_amount(base::JsonWriter& json, std::string_view name, const std::optional<Amount>& amount) {
  json.key(name);
  if (amount) {
    json.value(std::string_view(base::cat(amount->value)));
  } else {
    json.null();  // removes the key
  }
}

void write_amounts(base::JsonWriter& json, std::string_view list, const CapacityWrite& write) {
  json.key(list).begin_object();
  if (write.batch) {
    write_amount(json, model::kBatchCpu, write.publish.batch_cpu);
    write_amount(json, model::kBatchMemory, write.publish.batch_memory);
  }
  if (write.mid) {
    write_amount(json, model::kMidCpu, write.publish.mid_cpu);
    write_amount(json, model::kMidMemory, write.publish.mid_memory);
  }
  json.end_object();
}

void write_annotation(base::JsonWriter& json, std::string_view key, policy::sell::AnnotationAction action,
                      const std::string& text) {
  if (action == policy::sell::AnnotationAction::kSet) {
    json.member(key, std::string_view(text));
  } else if (action == policy::sell::AnnotationAction::kRemove) {
    json.key(key).null();
  }
}

bool carries(const model::ExtendedResources& amounts, const CapacityWrite& write) {
  const model::ExtendedResources& wanted = write.publish;
  const bool batch = amounts.batch_cpu == wanted.batch_cpu && amounts.batch_memory == wanted.batch_memory;
  const bool mid = amounts.mid_cpu == wanted.mid_cpu && amounts.mid_memory == wanted.mid_memory;
  return (!write.batch || batch) && (!write.mid || mid);
}

bool carries_text(const kube::Node& node, std::string_view key, std::string_view text) {
  const kube::Text* carried = node.meta.annotations.find(key);
  return carried != nullptr && carried->view() == text;
}

bool carries_annotation(const kube::Node& node, std::string_view key, policy::sell::AnnotationAction action,
                        const std::string& text) {
  switch (action) {
    case policy::sell::AnnotationAction::kKeep:
      return true;
    case policy::sell::AnnotationAction::kSet:
      return carries_text(node, key, text);
    case policy::sell::AnnotationAction::kRemove:
      return !node.meta.annotations.has(key);
  }
  return false;
}

}  // namespace

bool changes_nothing(const CapacityWrite& write, const kube::Node& node) {
  return carries(kube::extended_resources(node.capacity), write) &&
         carries(kube::extended_resources(node.allocatable), write) &&
         (!write.batch ||
          carries_text(node, model::kOriginAllocatableAnnotation, model::format_origin(write.origin))) &&
         (!write.normalization || carries_text(node, model::kNormalizationRatioAnnotation, *write.normalization)) &&
         carries_annotation(node, model::kAmplificationRatioAnnotation, write.amplification_action,
                            write.amplification) &&
         carries_annotation(node, model::kYarnOfferAnnotation, write.yarn_action,
                            model::format_yarn_offer(write.yarn_offer)) &&
         carries_annotation(node, model::kOversoldAnnotation, write.oversold_action,
                            model::format_oversold(write.oversold_since)) &&
         carries_text(node, kEpochAnnotation, base::cat(write.epoch)) &&
         (write.config_hash.empty() || carries_text(node, model::kConfigHashAnnotation, write.config_hash));
}

std::string capacity_patch(const CapacityWrite& write) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  json.key("metadata").begin_object();
  json.member("resourceVersion", std::string_view(write.resource_version));
  json.key("annotations").begin_object();
  if (write.batch)
    json.member(model::kOriginAllocatableAnnotation, std::string_view(model::format_origin(write.origin)));
  if (write.normalization) json.member(model::kNormalizationRatioAnnotation, std::string_view(*write.normalization));
  write_annotation(json, model::kAmplificationRatioAnnotation, write.amplification_action, write.amplification);
  write_annotation(json, model::kYarnOfferAnnotation, write.yarn_action, model::format_yarn_offer(write.yarn_offer));
  write_annotation(json, model::kOversoldAnnotation, write.oversold_action,
                   model::format_oversold(write.oversold_since));
  json.member(kEpochAnnotation, std::string_view(base::cat(write.epoch)));
  if (!write.config_hash.empty()) json.member(model::kConfigHashAnnotation, std::string_view(write.config_hash));
  json.end_object();
  json.end_object();
  json.key("status").begin_object();
  write_amounts(json, "capacity", write);
  write_amounts(json, "allocatable", write);
  json.end_object();
  json.end_object();
  return out;
}

std::string amounts_json(const model::ExtendedResources& amounts) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  if (amounts.batch_cpu) json.member(model::kBatchCpu, amounts.batch_cpu->value);
  if (amounts.batch_memory) json.member(model::kBatchMemory, amounts.batch_memory->value);
  if (amounts.mid_cpu) json.member(model::kMidCpu, amounts.mid_cpu->value);
  if (amounts.mid_memory) json.member(model::kMidMemory, amounts.mid_memory->value);
  json.end_object();
  return out;
}

std::int64_t read_epoch(std::string_view annotation) {
  const auto epoch = base::parse_int(annotation);
  return epoch && *epoch > 0 && *epoch <= kEpochMax ? *epoch : 0;
}

}  // namespace tidemark::manager
