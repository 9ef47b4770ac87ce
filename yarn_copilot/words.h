// The bodies of the copilot API beside those of copilot/container.h: what is asked, and what only this copilot tells.
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
#include "copilot/limit_stance.h"
#include "model/resources.h"
#include "yarn_copilot/containers.h"
#include "yarn_copilot/machine.h"
#include "yarn_copilot/work_labels.h"

namespace tidemark::yarn_copilot {

inline constexpr std::size_t kAskedBytesMax = 64 * 1024;
inline constexpr std::size_t kReasonBytesMax = 200;
inline constexpr base::Duration kGraceDefault = std::chrono::seconds(10);

// As the peer's API has it, which counts a vcore as a core. Where it was sold as more or less, what the container holds
// of the machine stands beside that, as batch resources: whoever reads those goes by what was sold. `queues` say the
// class of what no tag does.
copilot::Container to_container(const SeenContainer& seen, const std::vector<QueueClass>& queues);

// With all that is known here:
//
//   {"id":"container_…","state":"RUNNING","application":"application_…","attempt":"appattempt_…","master":false,
//    "user":"ada","queue":"root.etl","type":"SPARK","name":"nightly","tags":["…"],"priority":0,"vcores":2,"memoryMiB":2048,"began":"2026-…","group":"kubepods/…/container_…",
//    "use":{"processes":3,"cpuNanoseconds":1,"memoryBytes":1},"stoppedAt":"2026-…"}
//
// null: nobody knows it, it has none.
void write_seen(base::JsonWriter& writer, const SeenContainer& seen, std::optional<base::WallTime> stop,
                std::optional<std::int64_t> local_bytes = std::nullopt);
void write_limits(base::JsonWriter& writer, std::string_view id, const Limits& limits);

// {"containerID":"…"}; what else is in it is passed over, as the peer does.
Result<std::string> read_kill(std::string_view body);
// {"resources":{"cpu":"2","memory":"1Gi"}}: at least one of both.
Result<model::Resources> read_kill_by_resource(std::string_view body);

// {"containerID":"…","graceSeconds":30,"reason":"TM-EVICT-001"}: the grace and the reason may be left out. Unknown
// members are refused here and below: a word that does nothing helps nobody.
struct StopOrder {
  std::string id;
  base::Duration grace = kGraceDefault;
  std::string reason;
  bool operator==(const StopOrder&) const = default;
};
Result<StopOrder> read_stop(std::string_view body);

// {"containerID":"…","cpu":"500m","memory":"1Gi"}: what is left out stays as it is.
struct LimitOrder {
  std::string id;
  Limits limits;
  bool operator==(const LimitOrder&) const = default;
};
Result<LimitOrder> read_limits(std::string_view body);

// {"stance":"off"}
Result<copilot::LimitStance> read_stance(std::string_view body);

}  // namespace tidemark::yarn_copilot
