// Chooses the container that ends if the local directories exceed their limit: within the application that holds most
// of them, the container with most of its own if that is a considerable part, else the newest, because the rest belongs
// to all of them. The master comes last, because the application ends here with it.
//
// An end frees the container's own directory after a while. Shared data of the application may go too (a Spark executor
// that is stopped removes its blocks) or stay until the application ends (MapReduce shuffle files), and this is not
// known in advance. So containers end one at a time, and the next is chosen when the effect of the last is known. If
// ends have no effect, only the containers' own directories count from then on. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "yarn_copilot/local_dirs.h"

namespace tidemark::yarn_copilot {

struct LocalHolder {
  std::string id;
  LocalApplication application;
  bool master = false;
  std::optional<base::WallTime> began;  // nullopt: no processes yet
  bool ending = false;                  // it was asked to end
};

// An own part below this share of the application's data does not decide.
inline constexpr std::int64_t kOwnPart_percent = 25;
// A NodeManager removes a container's directory after its end; if it exists longer, the wait is over.
inline constexpr base::Duration kClearedWithin = std::chrono::minutes(1);
// Consecutive ends after which the directories held no less than before.
inline constexpr int kEndsInVainMax = 2;

enum class LocalFree : std::uint8_t {
  kOfApplication,  // data of the whole application
  kOwn,            // data in the container's own directory
};

// Index into `holders`. nullopt: all running containers together would not free `too_much`, so ending them would not
// help.
// help.
std::optional<std::size_t> choose_local_victim(const std::vector<LocalHolder>& holders, const LocalUse& use,
                                               std::int64_t too_much, LocalFree frees);

// State from pass to pass while the directories exceed the limit.
struct LocalEnds {
  std::string victim;                             // the last one; empty: none, or its effect is known
  std::int64_t bytes_before = 0;                  // in the directories, when it was chosen
  std::optional<base::MonotonicTime> ended_at{};  // when it was first seen to have ended
  int in_vain = 0;                                // consecutive ends without effect
  bool operator==(const LocalEnds&) const = default;
};
struct LocalStep {
  LocalEnds ends;
  std::optional<std::size_t> victim{};  // index into `holders` of the container to end now
  bool no_victim_helps = false;         // none, because it would not help
};
LocalStep step_local_ends(LocalEnds ends, const std::vector<LocalHolder>& holders, const LocalUse& use,
                          std::int64_t limit_bytes, base::MonotonicTime now);

}  // namespace tidemark::yarn_copilot
