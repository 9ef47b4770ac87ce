// What goes wrong with containers, by the timeliness class of their work:
//
//   localization failed   their files could not be fetched
//   never started         they ended, and no look before it saw a process of theirs: somebody ended them while they
//                         waited for their files
//   stuck                 they used less than kStuckUse_permille of a core over the last kStuckAfter, or waited so long
//                         for their files. Masters that run are left out: many only wait
//
// Ends are looked for often: a NodeManager lists a container that has ended for a heartbeat or two, and where its
// application has ended for none.
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
// Who waited at a look so short ago and is gone had no time to run; of longer absences nobody knows.
inline constexpr base::Duration kGoneUnseenMax = std::chrono::seconds(3);

enum class Trouble : std::uint8_t { kLocalizationFailed, kNeverStarted };
std::string_view to_string(Trouble);

struct Sighting {
  std::string id;
  std::string work_class;  // "": nobody says
  std::string state;       // as the NodeManager calls it
  std::int32_t exit_code = -1000;
  bool master = false;
  bool started = false;                // it runs, or has processes, or had some: those that ended have an exit code
  std::optional<std::int64_t> cpu_ns;  // since it began; nullopt: not counted
};

struct EndState {
  struct Known {
    bool started = false;
    bool told = false;  // what went wrong with it
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
  std::vector<FoundTrouble> found;  // each once
};
// `seen`: all that the NodeManager lists, of any state. Total.
EndStep look_for_bad_ends(const EndState& state, const std::vector<Sighting>& seen, base::MonotonicTime now);

struct StuckState {
  struct Known {
    std::string work_class;
    bool started = false;
    std::optional<std::int64_t> cpu_ns;
    base::MonotonicTime worked;  // when it had used what is worth mentioning last, or was seen first
    bool operator==(const Known&) const = default;
  };
  std::map<std::string, Known> containers;
  bool operator==(const StuckState&) const = default;
};
struct StuckStep {
  StuckState state;
  std::map<std::string, std::int64_t> stuck;  // by class: how many there are now, 0 for a class that has some
};
// The same, with what they use. Total.
StuckStep look_for_stuck(const StuckState& state, const std::vector<Sighting>& seen, base::MonotonicTime now);

}  // namespace tidemark::yarn_copilot
