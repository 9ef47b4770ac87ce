// /proc/net/dev: activity of the machine's network interfaces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

struct NetworkInterface {
  std::string name;
  std::int64_t received_bytes = 0, received_packets = 0, received_errors = 0, received_drops = 0;
  std::int64_t sent_bytes = 0, sent_packets = 0, sent_errors = 0, sent_drops = 0;
};

// Of the reader's network namespace: an agent that measures the node runs in the host's. `out` keeps its capacity.
Result<void> parse_network(std::string_view text, std::vector<NetworkInterface>& out);
Result<void> read_network(const Folder& proc, Buffer&, std::vector<NetworkInterface>& out);

}  // namespace tidemark::linux
