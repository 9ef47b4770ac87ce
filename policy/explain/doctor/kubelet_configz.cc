#include "policy/explain/doctor/kubelet_configz.h"

#include <optional>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::policy::explain {
namespace {

constexpr std::string_view kConfig = "kubeletconfig", kDriver = "cgroupDriver", kCpuManager = "cpuManagerPolicy",
                           kMemoryManager = "memoryManagerPolicy", kFailSwapOn = "failSwapOn",
                           kEvictionHard = "evictionHard", kEvictionSoft = "evictionSoft";

// "" if it is missing.
Result<std::string_view> text_member(const Json& object, std::string_view name) {
  const Json* member = object.member(name);
  if (member == nullptr || member->is_null()) return std::string_view();
  if (!member->is_string()) return fail(ErrorKind::kInvalid, name, ": wanted a string");
  return std::string_view(member->as_string());
}

Result<std::optional<evict::GroupDriver>> driver_of(const Json& config) {
  TM_TRY(const std::string_view word, text_member(config, kDriver));
  if (word.empty()) return std::nullopt;
  if (word == "cgroupfs") return evict::GroupDriver::kCgroupfs;
  if (word == "systemd") return evict::GroupDriver::kSystemd;
  return fail(ErrorKind::kInvalid, kDriver, ": cgroupfs or systemd is wanted, found ", base::in_quotes(word));
}

Result<std::optional<evict::EvictionThreshold>> threshold_of(const Json& thresholds, std::string_view signal) {
  TM_TRY(const std::string_view text, text_member(thresholds, signal));
  if (text.empty()) return std::nullopt;
  auto threshold = evict::parse_eviction_threshold(text);
  if (!threshold) return fail(std::move(threshold).error().within(signal));
  return threshold;
}

// From `evictionHard` or `evictionSoft`.
Result<evict::EvictionThresholds> thresholds_of(const Json& config, std::string_view name) {
  evict::EvictionThresholds out;
  const Json* thresholds = config.member(name);
  if (thresholds == nullptr || thresholds->is_null()) return out;
  if (!thresholds->is_object()) return fail(ErrorKind::kInvalid, name, ": wanted an object");
  const auto read = [&](std::string_view signal, std::optional<evict::EvictionThreshold>& into) -> Result<void> {
    auto threshold = threshold_of(*thresholds, signal);
    if (!threshold) return fail(std::move(threshold).error().within(name));
    into = *threshold;
    if (into) into->soft = name == kEvictionSoft;
    return {};
  };
  TM_TRY_VOID(read("memory.available", out.memory_available));
  TM_TRY_VOID(read("nodefs.available", out.nodefs_available));
  TM_TRY_VOID(read("nodefs.inodesFree", out.nodefs_inodes));
  TM_TRY_VOID(read("imagefs.available", out.imagefs_available));
  TM_TRY_VOID(read("imagefs.inodesFree", out.imagefs_inodes));
  return out;
}

Result<evict::KubeletFound> found_in(const Json& config) {
  evict::KubeletFound out;
  TM_TRY(out.driver, driver_of(config));
  TM_TRY(const std::string_view cpu_manager, text_member(config, kCpuManager));
  out.static_cpus = cpu_manager == "static";
  TM_TRY(const std::string_view memory_manager, text_member(config, kMemoryManager));
  out.static_memory = memory_manager == "Static";
  const Json* fails_on_swap = config.member(kFailSwapOn);
  if (fails_on_swap != nullptr && !fails_on_swap->is_null()) {
    if (!fails_on_swap->is_bool()) return fail(ErrorKind::kInvalid, kFailSwapOn, ": wanted true or false");
    out.takes_swap = !fails_on_swap->as_bool();
  }
  TM_TRY(out.hard, thresholds_of(config, kEvictionHard));
  TM_TRY(out.soft, thresholds_of(config, kEvictionSoft));
  return out;
}

}  // namespace

Result<evict::KubeletFound> parse_kubelet_configz(std::string_view text) {
  TM_TRY(const Json json, Json::parse(text));
  const Json* config = json.member(kConfig);
  if (config == nullptr || !config->is_object()) return fail(ErrorKind::kInvalid, kConfig, ": wanted an object");
  auto found = found_in(*config);
  if (!found) return fail(std::move(found).error().within(kConfig));
  return found;
}

}  // namespace tidemark::policy::explain
