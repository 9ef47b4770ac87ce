// What goes wrong with containers, by the timeliness class of their work:
//
//   localization failed   their files could not be fetched
//   never started         they were seen to end, and no process of theirs ever was: somebody ended them before it
//   stuck                 they run, and used less than kStuckUse_permille of a core over the last kStuckAfter. Masters
//                         are left out: many only wait
//
// Looked at from time to time, so what lives shorter than that is not seen.
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

enum class Trouble : std::uint8_t { kLocalizationFailed, kNeverStarted };
std::string_view to_string(Trouble);

struct Sighting {
  std::string id;
  std::string work_class;  // "": nobody says
  std::string state;       // as the NodeManager calls it
  bool master = false;
  bool started = false;                // it has processes, or had some: those that ended have an exit code
  std::optional<std::int64_t> cpu_ns;  // since it began; nullopt: not counted
};

struct TroubleState {
  struct Known {
    std::string work_class;
    bool started = false;
    bool told = false;  // what went wrong with it
    std::optional<std::int64_t> cpu_ns;
    base::MonotonicTime worked;  // when it had used what is worth mentioning last
    bool operator==(const Known&) const = default;
  };
  std::map<std::string, Known> containers;
  bool looked = false;
  bool operator==(const TroubleState&) const = default;
};

struct TroubleReport {
  struct Found {
    Trouble trouble;
    std::string id;
    std::string work_class;
    bool operator==(const Found&) const = default;
  };
  std::vector<Found> found;                   // each once
  std::map<std::string, std::int64_t> stuck;  // by class: how many there are now, 0 for a class that has some
};
struct TroubleStep {
  TroubleState state;
  TroubleReport report;
};
// `seen`: all that the NodeManager lists, of any state. Total.
TroubleStep look_for_troubles(const TroubleState& state, const std::vector<Sighting>& seen, base::MonotonicTime now);

}  // namespace tidemark::yarn_copilot
