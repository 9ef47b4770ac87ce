// Reads a NodeManager's containers from its REST API: GET /ws/v1/node/containers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/http_client.h"

namespace tidemark::hadoop {

inline constexpr std::size_t kNodeContainersMax = 4096;
inline constexpr std::size_t kNodeAnswerBytesMax = 8 * 1024 * 1024;
inline constexpr std::size_t kDiagnosticsBytesMax = 1024;  // of a container; the rest is cut

inline constexpr std::int32_t kNoExitCode = -1000;  // of a container without one: no process has ended

struct NodeContainer {
  std::string id;     // container_e01_1700000000000_0001_01_000002
  std::string state;  // as the NodeManager calls it: RUNNING, LOCALIZING, …
  std::int32_t exit_code = kNoExitCode;
  std::string user;
  std::int64_t memory_mib = 0;
  std::int64_t vcores = 0;
  std::string diagnostics{};
  bool operator==(const NodeContainer&) const = default;
};

// It no longer runs, or is being ended: nothing counts it.
bool has_ended(std::string_view state);
// Nothing of it was begun: its files are fetched, or it stands in a line.
bool waits_to_begin(std::string_view state);

struct NodeContainers {
  std::vector<NodeContainer> containers;  // by id
  std::vector<Error> refused;             // kInvalid: one that cannot be read hides no other
};
// kInvalid for bytes that are something else. A node without containers has null for a list.
Result<NodeContainers> parse_node_containers(std::string_view json);

// It requires authentication and rejects us or could not authenticate us.
bool is_shut_out(const Error& error);

class NodeManager {
 public:
  // `transport` leads to it, and outlives this.
  explicit NodeManager(net::HttpTransport& transport) : transport_(transport) {}
  // kUnavailable with whatever it answers in place of a list (is_shut_out).
  net::Task<Result<NodeContainers>> containers(base::Duration limit);

 private:
  net::HttpTransport& transport_;
};

}  // namespace tidemark::hadoop
