#include "policy/sell/overcommit/plugins.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace tidemark::policy::sell {
namespace {

struct Plugin {
  std::string_view name;
  bool PluginSet::* on;
};

constexpr Plugin kPlugins[] = {
    {"CPUNormalization", &PluginSet::cpu_normalization},
    {"ResourceAmplification", &PluginSet::resource_amplification},
    {"MidResource", &PluginSet::mid_resource},
    {"BatchResource", &PluginSet::batch_resource},
    {"GPUDeviceResource", &PluginSet::gpu_device_resource},
    {"RDMADeviceResource", &PluginSet::rdma_device_resource},
};

}  // namespace

Result<PluginSet> parse_plugins(std::span<const std::string> words) {
  std::vector<std::string_view> names;
  std::string known;
  for (const auto& plugin : kPlugins) {
    names.push_back(plugin.name);
    known += base::cat(known.empty() ? "" : ", ", plugin.name);
  }
  for (const std::string_view word : words) {
    const std::string_view name = word.substr(word.starts_with('-') ? 1 : 0);
    if (word == "*" || std::ranges::find(names, name) != names.end()) continue;
    const auto meant = base::nearest(name, names);
    return fail(ErrorKind::kInvalid, "unknown plugin ", base::in_quotes(name),
                meant ? base::cat("; did you mean ", *meant, "?") : base::cat("; known plugins: ", known));
  }
  PluginSet plugins;
  for (const auto& plugin : kPlugins) plugins.*plugin.on = base::switched_on(plugin.name, words);
  return plugins;
}

std::string plugins_text(const PluginSet& plugins) {
  std::string on;
  for (const auto& plugin : kPlugins) {
    if (plugins.*plugin.on) on += base::cat(on.empty() ? "" : ",", plugin.name);
  }
  return on.empty() ? "none" : on;
}

}  // namespace tidemark::policy::sell
