// Finds containers in trouble, by the timeliness class of their work:
//
//   localization failed   their files could not be fetched
//   never started         they ended, and no earlier pass saw a process: they were ended while they waited for files
//   stuck                 they used less than kStuckUse_permille of a core over the last kStuckAfter, or waited for
//                         their files for so long. Running masters are excluded: many only wait
//
// Passes are frequent: a NodeManager lists an ended container for a heartbeat or two, and not at all if its application
// has ended.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace tidemark::yarn_copilot {

inline constexpr base::Duration kStuckAfter = std::chrono::minutes(10);
inline constexpr std::int64_t kStuckUse_permille = 1;  // an idle JVM with a heartbeat uses some
// A container that waited at a pass so short ago and is gone had no time to run; after a longer gap this is unknown.
inline constexpr base::Duration kGoneUnseenMax = std::chrono::seconds(3);

enum class Trouble : std::uint8_t { kLocalizationFailed, kNeverStarted };
std::string_view to_string(Trouble);

struct Sighting {
  std::string id;
  std::string work_class;  // "": unknown
  std::string state;       // as the NodeManager calls it
  std::int32_t exit_code = -1000;
  bool master = false;
  bool started = false;                // it runs, or has or had processes: then its end has an exit code
  std::optional<std::int64_t> cpu_ns;  // since it started; nullopt: not counted
};

struct EndState {
  struct Known {
    bool started = false;
    bool told = false;  // trouble already reported
    base::MonotonicTime seen;
    bool operator==(const Known&) const = default;
  };
  std::map<std::string, Known> containers;
  bool looked = false;
  bool operator==(const EndState&) const = default;
};
struct FoundTrouble {
  Trouble trouble;
  std::string id;
  bool operator==(const FoundTrouble&) const = default;
};
struct EndStep {
  EndState state;
  std::vector<FoundTrouble> found;  // each trouble once
};
// `seen`: all containers of the NodeManager in any state. Total.
EndStep look_for_bad_ends(const EndState& state, const std::vector<Sighting>& seen, base::MonotonicTime now);

struct StuckState {
  struct Known {
    std::string work_class;
    bool started = false;
    std::optional<std::int64_t> cpu_ns;
    base::MonotonicTime worked;  // last time with considerable usage, or first seen
    bool operator==(const Known&) const = default;
  };
  std::map<std::string, Known> containers;
  bool operator==(const StuckState&) const = default;
};
struct StuckStep {
  StuckState state;
  std::map<std::string, std::int64_t> stuck;  // by class: current number, 0 for a class without stuck ones
};
// The same, with usage. Total.
StuckStep look_for_stuck(const StuckState& state, const std::vector<Sighting>& seen, base::MonotonicTime now);

}  // namespace tidemark::yarn_copilot
