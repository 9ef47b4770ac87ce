#include "policy/render/intent_text.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/text.h"
#include "model/cpu_list.h"
#include "policy/render/why.h"

namespace tidemark::policy {
namespace {

using base::cat;

struct WantName {
  std::string_view words;
  std::string_view key;
};
constexpr WantName name_of(Want want) {
  switch (want) {
    case Want::kCpuQuota:
      return {"CPU quota", "cpuQuota"};
    case Want::kCpus:
      return {"processors", "cpus"};
    case Want::kCpuShares:
      return {"CPU shares", "cpuShares"};
    case Want::kCpuPriority:
      return {"CPU priority", "cpuPriority"};
    case Want::kMemoryLimit:
      return {"memory limit", "memoryLimit"};
    case Want::kMemoryMin:
      return {"memory kept", "memoryMin"};
    case Want::kMemoryLow:
      return {"memory kept if possible", "memoryLow"};
  }
  return {};
}

std::string_view name_of(CpuPriority priority) {
  switch (priority) {
    case CpuPriority::kOffline:
      return "offline";
    case CpuPriority::kPlain:
      return "plain";
    case CpuPriority::kOnlineLow:
      return "online, low";
    case CpuPriority::kOnline:
      return "online";
  }
  return "unknown";
}

std::string processors(std::span<const std::int32_t> cpus) {
  return cpus.empty() ? "none" : model::format_cpus(cpus);
}

std::string value_words(const Intent& intent) {
  switch (intent.want) {
    case Want::kCpuQuota:
      return intent.value == kNoLimit ? "none" : cat(intent.value, " us in 100 ms");
    case Want::kCpus:
      return processors(intent.cpus);
    case Want::kCpuPriority:
      return cat(name_of(static_cast<CpuPriority>(intent.value)), " (", intent.value, ")");
    case Want::kMemoryLimit:
    case Want::kMemoryMin:
    case Want::kMemoryLow:
      return intent.value == kNoLimit ? "none" : cat(intent.value, " bytes");
    case Want::kCpuShares:
      return cat(intent.value);
  }
  return cat(intent.value);
}

}  // namespace

std::string render_text(std::span<const Intent> intents) {
  std::size_t width = 0;
  for (const Intent& each : intents) width = std::max(width, name_of(each.want).words.size());
  std::string out;
  const std::string* group = nullptr;
  for (const Intent& each : intents) {
    if (group == nullptr || *group != each.group) out += cat(each.group, "\n");
    group = &each.group;
    const std::string_view name = name_of(each.want).words;
    out += cat("  ", name, std::string(width - name.size() + 2, ' '), value_words(each), ": ", why(each.reason), "\n");
  }
  return out;
}

Json render_json(std::span<const Intent> intents) {
  Json out = Json::array();
  for (const Intent& each : intents) {
    Json shown = Json::object({{"group", Json(each.group)}, {"want", Json(name_of(each.want).key)}});
    shown["value"] = each.want == Want::kCpus ? Json(processors(each.cpus)) : Json(each.value);
    shown["strategy"] = Json(model::to_string(each.strategy));
    shown["reason"] = why_json(each.reason);
    out.as_array().push_back(std::move(shown));
  }
  return out;
}

}  // namespace tidemark::policy
