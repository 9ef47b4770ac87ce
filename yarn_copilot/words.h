// Bodies of the copilot API beside those of copilot/container.h: requests, and responses that only this copilot gives.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "copilot/container.h"
#include "copilot/limit_permit.h"
#include "model/resources.h"
#include "yarn_copilot/containers.h"
#include "yarn_copilot/machine.h"
#include "yarn_copilot/work_labels.h"

namespace tidemark::yarn_copilot {

inline constexpr std::size_t kAskedBytesMax = 64 * 1024;
inline constexpr std::size_t kReasonBytesMax = 200;
inline constexpr base::Duration kGraceDefault = std::chrono::seconds(10);

// In the format of Koordinator's API, which counts a vcore as a core. If a vcore has another value, the batch resources
// beside it give what the container holds of the machine. `queues` give the class if no tag does.
copilot::Container to_container(const SeenContainer& seen, const std::vector<QueueClass>& queues);

// With all known data:
//
//   {"id":"container_…","state":"RUNNING","application":"application_…","attempt":"appattempt_…","master":false,
//    "user":"ada","queue":"root.etl","type":"SPARK","name":"nightly","tags":["…"],"priority":0,"vcores":2,"memoryMiB":2048,"began":"2026-…","group":"kubepods/…/container_…",
//    "use":{"processes":3,"cpuNanoseconds":1,"memoryBytes":1},"stoppedAt":"2026-…"}
//
// null: unknown or none.
void write_seen(base::JsonWriter& writer, const SeenContainer& seen, std::optional<base::WallTime> stop,
                std::optional<std::int64_t> local_bytes = std::nullopt);
void write_limits(base::JsonWriter& writer, std::string_view id, const Limits& limits);

// {"containerID":"…"}; other members are ignored, as in Koordinator's copilot.
Result<std::string> read_kill(std::string_view body);
// {"resources":{"cpu":"2","memory":"1Gi"}}: at least one of the two.
Result<model::Resources> read_kill_by_resource(std::string_view body);

// {"containerID":"…","graceSeconds":30,"reason":"TM-EVICT-001"}: grace and reason are optional. Unknown members are
// rejected here and below, because a member without effect is a mistake.
struct StopOrder {
  std::string id;
  base::Duration grace = kGraceDefault;
  std::string reason;
  bool operator==(const StopOrder&) const = default;
};
Result<StopOrder> read_stop(std::string_view body);

// {"containerID":"…","cpu":"500m","memory":"1Gi"}: an absent limit stays unchanged.
struct LimitOrder {
  std::string id;
  Limits limits;
  bool operator==(const LimitOrder&) const = default;
};
Result<LimitOrder> read_limits(std::string_view body);

// {"permit":"off"}
Result<copilot::LimitPermit> read_permit(std::string_view body);

}  // namespace tidemark::yarn_copilot
