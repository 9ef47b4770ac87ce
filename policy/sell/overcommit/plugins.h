// The parts of Koordinator's node resource controller that run (`--noderesource-plugins`). A part that is off touches
// none of its values: they stay on the node, neither refreshed nor removed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemark::policy::sell {

struct PluginSet {
  bool batch_resource = true;          // batch-cpu, batch-memory, the origin annotation
  bool mid_resource = true;            // mid-cpu, mid-memory
  bool cpu_normalization = true;       // the ratio annotation
  bool resource_amplification = true;  // the ratio annotation
  bool gpu_device_resource = true;     // not built here
  bool rdma_device_resource = true;    // not built here

  bool operator==(const PluginSet&) const = default;
};

// The list as Koordinator reads it: the first entry with a plugin's name enables it, the first with its name after a
// dash disables it; other plugins are on if "*" is in the list. So an empty list disables everything. An unknown name
// is kInvalid: a misspelt one would leave a plugin on.
Result<PluginSet> parse_plugins(std::span<const std::string> words);

std::string plugins_text(const PluginSet& plugins);  // "CPUNormalization,BatchResource": the enabled ones; "none"

}  // namespace tidemark::policy::sell
