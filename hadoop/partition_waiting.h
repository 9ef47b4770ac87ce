// What is waited for in each partition of a cluster, by the ResourceManager's own metrics at its web address:
// GET /jmx. Its RPC says so only of nodes without a label. What it answers may be ten seconds old.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "hadoop/yarn_records.h"
#include "net/http_client.h"

namespace tidemark::hadoop {

inline constexpr std::size_t kPartitionWaitingBytesMax = 8 * 1024 * 1024;

// By label. Without one for which nothing ever waited, and without nodes that have none.
using WaitingByPartition = std::map<std::string, QueueWaiting>;

// kNotFound if no partition is named, not even "default": nothing was ever requested, or this is not an active
// ResourceManager with such metrics. kInvalid for other content.
Result<WaitingByPartition> parse_partition_waiting(std::string_view json);

// `door` leads to a ResourceManager's web address. kUnavailable with whatever it answers in place of metrics.
net::Task<Result<WaitingByPartition>> ask_partition_waiting(net::HttpTransport& door, base::Duration limit);

}  // namespace tidemark::hadoop
