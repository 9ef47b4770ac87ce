// One line of a container's log, as runtimes of containers write them for Kubernetes (runtime/shim/log_lines.h is
// ours):
//
//   2026-11-23T20:15:30.123456789Z stdout F a whole line
//   2026-11-23T20:15:30.123456790Z stderr P a part: the rest comes in the next line of the same stream
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"

namespace tidemark::cli {

struct CriLine {
  std::string_view time_text;
  base::WallTime time;
  bool error = false;  // its stream
  bool partial = false;
  std::string_view text;
};

// `line` is without its newline. nullopt: it is not in this format. Views point into `line`.
std::optional<CriLine> parse_cri_line(std::string_view line);

}  // namespace tidemark::cli
