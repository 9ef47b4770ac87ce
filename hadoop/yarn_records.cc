#include "hadoop/yarn_records.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"
#include "hadoop/wire.h"

namespace tidemark::hadoop {
namespace {

// Resources that also appear in the map but have fields of their own.
constexpr std::string_view kMemory = "memory-mb";
constexpr std::string_view kVcores = "vcores";

void write(WireWriter& out, const NodeId& id) {
  out.bytes(1, id.host).number(2, id.port);
}

void write(WireWriter& out, const Resource& resource) {
  out.number(1, resource.memory_mib).number(2, resource.vcores);
  for (const ResourceValue& each : resource.others) {
    out.message(3, [&](WireWriter& value) {
      value.bytes(1, each.name).number(2, each.value).bytes(3, each.units).number(4, each.type);
    });
  }
}

Result<ResourceValue> read_resource_value(std::string_view bytes) {
  ResourceValue out;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 1) out.name = field->text();
    if (field->number == 2) out.value = field->integer();
    if (field->number == 3) out.units = field->text();
    if (field->number == 4) out.type = field->integer32();
  }
  TM_TRY_VOID(reader.finish("ResourceInformationProto"));
  return out;
}

Result<NodeState> read_state(std::int64_t value) {
  if (value < 1 || value > 8) return fail(ErrorKind::kInvalid, "a state that is not known: ", value);
  return static_cast<NodeState>(value);
}

Result<NodeReport> read_report(std::string_view bytes) {
  NodeReport report;
  bool used = false;
  bool capability = false;
  std::int64_t state = 0;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: {
        TM_TRY(report.id, decode_node_id(field->text()));
        break;
      }
      case 2:
        report.http_address = field->text();
        break;
      case 4: {
        TM_TRY(report.used, decode_resource(field->text()));
        used = true;
        break;
      }
      case 5: {
        TM_TRY(report.capability, decode_resource(field->text()));
        capability = true;
        break;
      }
      case 6:
        report.containers = field->integer32();
        break;
      case 7:
        state = field->integer();
        break;
      case 8:
        report.health_report = field->text();
        break;
      case 10:
        if (report.labels.size() < kLabelsMax) report.labels.emplace_back(field->text());
        break;
      default:
        break;
    }
  }
  TM_TRY_VOID(reader.finish("NodeReportProto"));
  if (report.id.host.empty()) return fail(ErrorKind::kInvalid, "NodeReportProto: no nodeId");
  const auto lacks = [&](std::string_view what) {
    return fail(ErrorKind::kInvalid, "NodeReportProto of ", report.id.text(), ": no ", what);
  };
  if (!capability) return lacks("capability");
  if (auto known = read_state(state); known) {
    report.state = *known;
  } else {
    return fail(std::move(known).error().within(base::cat("NodeReportProto of ", report.id.text())));
  }
  // A node that left reports no used resources; for a running one they are required.
  if (!used && report.state == NodeState::kRunning) return lacks("used");
  return report;
}

// Of a float; nullopt: not one, or no finite share.
std::optional<std::int64_t> permille_of(const WireField& field) {
  if (field.kind != WireField::Kind::kFixed || field.value > std::numeric_limits<std::uint32_t>::max()) {
    return std::nullopt;
  }
  const float share = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
  constexpr float kMax = 1000;  // times the whole
  if (!std::isfinite(share) || share < 0) return std::nullopt;
  return std::llround(std::min(share, kMax) * 1000);
}

}  // namespace

Result<NodeId> decode_node_id(std::string_view bytes) {
  NodeId id;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 1) id.host = field->text();
    if (field->number == 2) id.port = field->integer32();
  }
  TM_TRY_VOID(reader.finish("NodeIdProto"));
  if (id.host.empty()) return fail(ErrorKind::kInvalid, "NodeIdProto: no host");
  return id;
}

Result<Resource> decode_resource(std::string_view bytes) {
  Resource out;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1:
        out.memory_mib = field->integer();
        break;
      case 2:
        out.vcores = field->integer32();
        break;
      case 3: {
        TM_TRY(ResourceValue value, read_resource_value(field->text()));
        if (value.name == kMemory || value.name == kVcores) break;
        if (out.others.size() == kResourceTypesMax) {
          return fail(ErrorKind::kInvalid, "ResourceProto: more than ", kResourceTypesMax, " kinds of resources");
        }
        out.others.push_back(std::move(value));
        break;
      }
      default:
        break;
    }
  }
  TM_TRY_VOID(reader.finish("ResourceProto"));
  return out;
}

std::string NodeId::text() const {
  return base::cat(host, ":", port);
}

Result<NodeId> parse_node_id(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  NodeId id;
  if (colon != std::string_view::npos && colon > 0) {
    const auto port = base::parse_int(text.substr(colon + 1));
    if (port && *port > 0 && *port <= std::numeric_limits<std::uint16_t>::max()) {
      id.host = text.substr(0, colon);
      id.port = static_cast<std::int32_t>(*port);
      return id;
    }
  }
  return fail(ErrorKind::kInvalid, "a NodeManager is named HOST:PORT, found ", base::in_quotes(text));
}

std::string_view to_string(NodeState state) {
  switch (state) {
    case NodeState::kNew:
      return "NEW";
    case NodeState::kRunning:
      return "RUNNING";
    case NodeState::kUnhealthy:
      return "UNHEALTHY";
    case NodeState::kDecommissioned:
      return "DECOMMISSIONED";
    case NodeState::kLost:
      return "LOST";
    case NodeState::kRebooted:
      return "REBOOTED";
    case NodeState::kDecommissioning:
      return "DECOMMISSIONING";
    case NodeState::kShutdown:
      return "SHUTDOWN";
  }
  return "?";
}

bool is_active(NodeState state) {
  return state == NodeState::kRunning || state == NodeState::kUnhealthy || state == NodeState::kDecommissioning;
}

std::string encode_update_node_resource(const std::vector<NodeUpdate>& updates) {
  std::string out;
  WireWriter writer(out);
  for (const NodeUpdate& update : updates) {
    writer.message(1, [&](WireWriter& entry) {
      entry.message(1, [&](WireWriter& id) { write(id, update.id); });
      entry.message(2, [&](WireWriter& option) {
        option.message(1, [&](WireWriter& total) { write(total, update.total); });
        if (update.overcommit) option.number(2, update.overcommit->milliseconds);
      });
    });
  }
  return out;
}

std::string encode_get_cluster_nodes(const std::vector<NodeState>& states) {
  std::string out;
  WireWriter writer(out);
  for (const NodeState state : states) writer.number(1, static_cast<std::int64_t>(state));
  return out;
}

Result<NodeReports> decode_get_cluster_nodes(std::string_view response) {
  NodeReports out;
  WireReader reader(response);
  while (const auto field = reader.next()) {
    if (field->number != 1) continue;
    if (out.nodes.size() + out.refused.size() == kNodesMax) {
      return fail(ErrorKind::kInvalid, "GetClusterNodesResponseProto: more than ", kNodesMax, " nodes");
    }
    if (auto report = read_report(field->text()); report) {
      out.nodes.push_back(std::move(*report));
    } else {
      out.refused.push_back(std::move(report).error());
    }
  }
  TM_TRY_VOID(reader.finish("GetClusterNodesResponseProto"));
  return out;
}

// Without its applications and child queues: their sum is what is asked for.
std::string encode_get_queue_info(std::string_view queue) {
  std::string out;
  WireWriter(out).bytes(1, queue);
  return out;
}

Result<QueueReport> decode_get_queue_info(std::string_view response) {
  constexpr std::uint32_t kQueueInfo = 1, kMaximumCapacity = 3, kCurrentCapacity = 4, kQueueStatistics = 10,
                          kSchedulerType = 17, kPendingMemory = 10, kPendingVcores = 14, kPendingContainers = 17;
  QueueReport report;
  QueueWaiting& out = report.waiting;
  bool told = false, has_maximum = false;
  std::optional<std::int64_t> share;
  std::optional<std::string> scheduler;
  WireReader reader(response);
  while (const auto field = reader.next()) {
    if (field->number != kQueueInfo) continue;
    WireReader queue(field->text());
    while (const auto part = queue.next()) {
      if (part->number == kMaximumCapacity) has_maximum = true;
      if (part->number == kCurrentCapacity) share = permille_of(*part);
      if (part->number == kSchedulerType) scheduler = part->text();
      if (part->number != kQueueStatistics) continue;
      told = true;
      WireReader statistics(part->text());
      while (const auto value = statistics.next()) {
        if (value->number == kPendingMemory) out.memory_mib = value->integer();
        if (value->number == kPendingVcores) out.vcores = value->integer();
        if (value->number == kPendingContainers) out.containers = value->integer();
      }
      TM_TRY_VOID(statistics.finish("QueueStatisticsProto"));
    }
    TM_TRY_VOID(queue.finish("QueueInfoProto"));
  }
  TM_TRY_VOID(reader.finish("GetQueueInfoResponseProto"));
  if (!told) return fail(ErrorKind::kInvalid, "GetQueueInfoResponseProto: no statistics of the queue");
  out.memory_mib = std::max<std::int64_t>(out.memory_mib, 0);
  out.vcores = std::max<std::int64_t>(out.vcores, 0);
  out.containers = std::max<std::int64_t>(out.containers, 0);
  // Before 3.4 the scheduler has no name here; a FairScheduler sets no maximum.
  if (scheduler ? *scheduler == "CapacityScheduler" : has_maximum) report.used_share_permille = share;
  return report;
}

std::string_view to_string(HaState state) {
  switch (state) {
    case HaState::kInitializing:
      return "initializing";
    case HaState::kActive:
      return "active";
    case HaState::kStandby:
      return "standby";
    case HaState::kObserver:
      return "observer";
  }
  return "?";
}

Result<HaState> decode_get_service_status(std::string_view response) {
  std::optional<std::int64_t> state;
  WireReader reader(response);
  while (const auto field = reader.next()) {
    if (field->number == 1) state = field->integer();
  }
  TM_TRY_VOID(reader.finish("GetServiceStatusResponseProto"));
  if (!state || *state < 0 || *state > 3) {
    return fail(ErrorKind::kInvalid, "GetServiceStatusResponseProto: no state that is known");
  }
  return static_cast<HaState>(*state);
}

}  // namespace tidemark::hadoop
