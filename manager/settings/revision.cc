#include "manager/settings/revision.h"

#include <array>
#include <optional>
#include <utility>

#include "model/names.h"

namespace tidemark::manager {
namespace {

RevisionPart::Taken take_colocation(Revision& into, const model::ConfigSource& source) {
  auto step = policy::sell::next_config(into.colocation, source);
  into.colocation = std::move(step.state);
  return {step.reason, std::move(step.problem)};
}

RevisionPart::Taken take_normalization(Revision& into, const model::ConfigSource& source) {
  auto step = policy::sell::next_chosen(into.normalization, source, policy::sell::parse_normalization_config);
  into.normalization = std::move(step.config);
  return {step.reason, std::move(step.problem)};
}

RevisionPart::Taken take_amplification(Revision& into, const model::ConfigSource& source) {
  auto step = policy::sell::next_chosen(into.amplification, source, policy::sell::parse_amplification_config);
  into.amplification = std::move(step.config);
  return {step.reason, std::move(step.problem)};
}

template <model::SloPart kPart>
RevisionPart::Taken take_slo(Revision& into, const model::ConfigSource& source) {
  auto step = policy::settings::next_slo_part(kPart, source);
  if (step.next) into.nodeslo.parts[static_cast<std::size_t>(kPart)] = std::move(*step.next);
  return {step.reason, std::move(step.problem)};
}

constexpr std::string_view kSloEvent = "SLOCfgUnmarshalFailed";

std::string_view slo_key(model::SloPart part) {
  return policy::settings::slo_part_info(part).key;
}

}  // namespace

std::span<const RevisionPart> revision_parts() {
  using model::SloPart;
  static const std::array kParts{
      RevisionPart{model::kColocationConfigKey, "ColocationCfgUnmarshalFailed", take_colocation},
      RevisionPart{model::kNormalizationConfigKey, "CPUNormalizationCfgUnmarshalFailed", take_normalization},
      RevisionPart{model::kAmplificationConfigKey, "ResourceAmplificationCfgUnmarshalFailed", take_amplification},
      RevisionPart{slo_key(SloPart::kThreshold), kSloEvent, take_slo<SloPart::kThreshold>},
      RevisionPart{slo_key(SloPart::kQos), kSloEvent, take_slo<SloPart::kQos>},
      RevisionPart{slo_key(SloPart::kCpuBurst), kSloEvent, take_slo<SloPart::kCpuBurst>},
      RevisionPart{slo_key(SloPart::kSystem), kSloEvent, take_slo<SloPart::kSystem>},
      RevisionPart{slo_key(SloPart::kHostApplications), kSloEvent, take_slo<SloPart::kHostApplications>},
  };
  return kParts;
}

bool is_good(model::Reason reason) {
  using model::Reason;
  return reason == Reason::kConfigApplied || reason == Reason::kConfigDefaults || reason == Reason::kConfigDropIn;
}

std::optional<Revision> revision_of(const policy::settings::SettingsTexts& texts, const ZonesOf& zones) {
  Revision revision;
  for (const RevisionPart& part : revision_parts()) {
    model::ConfigSource source;
    if (const auto at = texts.slo.find(std::string(part.key)); at != texts.slo.end()) source.text = at->second;
    if (!is_good(part.take(revision, source).reason)) return std::nullopt;
  }
  if (texts.tidemark) {
    auto config = policy::settings::parse_tidemark_config(*texts.tidemark, zones(*texts.tidemark));
    if (!config) return std::nullopt;
    revision.tidemark = std::move(*config);
  }
  revision.texts = texts;
  revision.hash = policy::settings::hash_of(texts);
  return revision;
}

}  // namespace tidemark::manager
