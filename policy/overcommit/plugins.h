// Which parts of the peer's node resource controller run (`--noderesource-plugins`). A part that is off touches nothing
// of its own: what a node carries of it stays as it is, neither refreshed nor taken away.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemark::policy {

struct PluginSet {
  bool batch_resource = true;          // batch-cpu, batch-memory, the origin annotation
  bool mid_resource = true;            // mid-cpu, mid-memory
  bool cpu_normalization = true;       // the ratio annotation
  bool resource_amplification = true;  // the ratio annotation
  bool gpu_device_resource = true;     // not built here
  bool rdma_device_resource = true;    // not built here

  bool operator==(const PluginSet&) const = default;
};

// The list as the peer reads it: the first word that is a plugin's name switches it on, the first that is its name
// behind a dash switches it off; one that neither is said of is on where "*" is among the words. So an empty list
// switches everything off. An unknown name is kInvalid: misspelt, it would leave on what was to be off.
Result<PluginSet> parse_plugins(std::span<const std::string> words);

std::string plugins_text(const PluginSet& plugins);  // "CPUNormalization,BatchResource": what is on; "none"

}  // namespace tidemark::policy
