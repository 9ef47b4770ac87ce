// /proc/net/dev: what the network interfaces of the machine do.
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

// Of the network namespace of whoever reads: an agent that is to see the node's runs in the host's. `out` keeps its
// room.
Result<void> parse_network(std::string_view text, std::vector<NetworkInterface>& out);
Result<void> read_network(const Folder& proc, Buffer&, std::vector<NetworkInterface>& out);

}  // namespace tidemark::linux
