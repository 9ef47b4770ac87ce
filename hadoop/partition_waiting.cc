#include "hadoop/partition_waiting.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::hadoop {
namespace {

using base::JsonReader;

constexpr std::string_view kWhat = "what is waited for in partitions";
// Each has a name of its own, a queue of it a longer one. "default" is Hadoop's word here for nodes without a label.
constexpr std::string_view kNamedAs = "Hadoop:service=ResourceManager,name=PartitionQueueMetrics,partition=";
constexpr std::string_view kNoLabel = "default";
constexpr std::size_t kSaidBytesMax = 200;  // of what it answered in place of metrics

void read_gauge(JsonReader& json, std::int64_t& out) {
  if (json.integer(out)) out = std::max<std::int64_t>(out, 0);  // Hadoop's gauges are counted up and down
}

// Answers whether it is of a partition.
bool read_one(JsonReader& json, WaitingByPartition& out) {
  std::string name;
  QueueWaiting waiting;
  json.object([&](std::string_view key) {
    if (key == "name") {
      json.string(name);
    } else if (key == "PendingMB") {
      read_gauge(json, waiting.memory_mib);
    } else if (key == "PendingVCores") {
      read_gauge(json, waiting.vcores);
    } else if (key == "PendingContainers") {
      read_gauge(json, waiting.containers);
    } else {
      json.skip();
    }
  });
  if (!json.ok() || !name.starts_with(kNamedAs)) return false;
  std::string label = name.substr(kNamedAs.size());
  if (label.empty() || label == kNoLabel || label.contains(',')) return true;
  if (out.size() == kPartitionsMax) {
    json.fail_here("more partitions than a cluster can have");
    return true;
  }
  out.insert_or_assign(std::move(label), waiting);
  return true;
}

}  // namespace

Result<WaitingByPartition> parse_partition_waiting(std::string_view json_text) {
  WaitingByPartition out;
  bool told = false;
  bool any = false;
  JsonReader json(json_text);
  json.object([&](std::string_view key) {
    if (key != "beans") {
      json.skip();
      return;
    }
    told = true;
    json.array([&] { any = read_one(json, out) || any; });
  });
  if (auto end = json.finish(); !end) return fail(std::move(end).error().within(kWhat));
  if (!told) return fail(ErrorKind::kInvalid, kWhat, ": the answer has no metrics");
  if (!any) {
    return fail(ErrorKind::kNotFound, kWhat,
                ": the answer names none: its ResourceManager has given out nothing yet, is on standby, or has no such "
                "metrics");
  }
  return out;
}

net::Task<Result<WaitingByPartition>> ask_partition_waiting(net::HttpTransport& door, base::Duration limit) {
  net::HttpRequest request;
  request.target = base::cat("/jmx?qry=", kNamedAs, "*");
  request.headers.add("accept", "application/json");
  auto answer = co_await door.fetch(std::move(request), limit);
  if (!answer) co_return fail(std::move(answer).error().within(kWhat));
  if (answer->status != 200) {
    co_return fail(ErrorKind::kUnavailable, kWhat, ": the ResourceManager's web address answered ", answer->status, " ",
                   base::in_quotes(base::trim(std::string_view(answer->body).substr(0, kSaidBytesMax))));
  }
  co_return parse_partition_waiting(answer->body);
}

}  // namespace tidemark::hadoop
