// Which container ends where the local folders hold more than they may: of the application that holds most of them the
// one with most of its own, where that is a good part of it; else the newest, since what is left is of them all. Its
// master comes last: with it the application ends here.
#pragma once

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
};

// Less than this part of what its application holds is not worth a choice.
inline constexpr std::int64_t kOwnPart_percent = 25;

// Its place in `holders`. nullopt: those who run do not hold together what is `too_much`, so their end would not help.
std::optional<std::size_t> choose_local_victim(const std::vector<LocalHolder>& holders, const LocalUse& use,
                                               std::int64_t too_much);

}  // namespace tidemark::yarn_copilot
