// Which container ends where the local folders hold more than they may: of the application that holds most of them the
// one with most of its own, where that is a good part of it; else the newest, since what is left is of them all. Its
// master comes last: with it the application ends here.
//
// An end frees the container's own folder, by and by. What its application has beside that may go with it (an executor
// of Spark that is asked to end takes its blocks along) or stay until the application ends (shuffle files of
// MapReduce), and nobody says which. So one ends after the other, each when it is seen what the one before has brought,
// and where ends bring nothing, only what is in containers' own folders counts from then on. Pure.
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
  std::optional<base::WallTime> began;  // nullopt: its processes are not there yet
  bool ending = false;                  // it was asked to
};

// Less than this part of what its application holds is not worth a choice.
inline constexpr std::int64_t kOwnPart_percent = 25;
// A NodeManager clears a container's folder away after its end; what is there longer is not waited for.
inline constexpr base::Duration kClearedWithin = std::chrono::minutes(1);
// Ends in a row after which the folders held no less than before.
inline constexpr int kEndsInVainMax = 2;

enum class LocalFree : std::uint8_t {
  kOfApplication,  // what the application has
  kOwn,            // what is in the container's own folder
};

// Its place in `holders`. nullopt: those who run would not free together what is `too_much`, so their end would not
// help.
std::optional<std::size_t> choose_local_victim(const std::vector<LocalHolder>& holders, const LocalUse& use,
                                               std::int64_t too_much, LocalFree frees);

// What is remembered from look to look while the folders hold too much.
struct LocalEnds {
  std::string victim;                             // the last one; empty: nobody, or what its end brought is known
  std::int64_t bytes_before = 0;                  // in the folders, when it was chosen
  std::optional<base::MonotonicTime> ended_at{};  // when it was seen first that it runs no more
  int in_vain = 0;                                // ends in a row that brought nothing
  bool operator==(const LocalEnds&) const = default;
};
struct LocalStep {
  LocalEnds ends;
  std::optional<std::size_t> victim{};  // who is to end now, of `holders`
  bool nobody_helps = false;            // nobody, because it would not help
};
LocalStep step_local_ends(LocalEnds ends, const std::vector<LocalHolder>& holders, const LocalUse& use,
                          std::int64_t limit_bytes, base::MonotonicTime now);

}  // namespace tidemark::yarn_copilot
