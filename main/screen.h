// The terminal of `tidemark top` and `tidemark local top`: its size, its keys, and a screen that is drawn again.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "cli/screen.h"
#include "net/loop.h"
#include "net/task.h"

namespace tidemark::main {

inline constexpr base::Duration kScreenIntervalMin = std::chrono::milliseconds(200);
inline constexpr base::Duration kScreenIntervalMax = std::chrono::hours(1);

struct TerminalSize {
  std::size_t width = 100, height = 0;  // 0: unlimited
};
TerminalSize terminal_size();

// Whether input and output are a terminal that can move its cursor (TERM is not dumb) and is wide enough.
bool has_screen();

struct ScreenParts {
  std::function<std::vector<cli::ScreenLine>(TerminalSize)> lines;
  std::function<bool(const cli::Key&)> press;  // false ends the screen
  std::function<net::Task<void>()> refresh;    // reads what the next drawing shows
};

// Draws on the alternate screen at each interval, after each key, on `wake` and when the size changes. With NO_COLOR
// nothing has a colour. The end of the task, also when it is destroyed, restores the terminal.
net::Task<void> show_screen(net::EventLoop& loop, net::Event& wake, base::Duration interval, ScreenParts parts);

}  // namespace tidemark::main
