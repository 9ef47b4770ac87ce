// The messages between a shim and the runtime, as files of one directory: either may die, and the files of the other
// stay.
//
//   begin.json     written by the runtime before the shim starts: what is to run, and how
//   lock           held by the shim as long as it lives, with its pid and start time; and for a moment by a runtime
//                  that finds it free and writes ended.json: a shim that gets it later finds that and starts nothing.
//                  Empty and free: no shim ever started, and the directory is removed
//   running.json   written by the shim: the process that runs
//   ended.json     written by the shim when that has ended, whole or not at all: what a container came to
//
// Room for all that the shim writes is kept from the begin on: a disk that is full by then loses no exit code.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::runtime {

inline constexpr std::int64_t kShimSchema = 1;
inline constexpr std::string_view kBeginFile = "begin.json";
inline constexpr std::string_view kLockFile = "lock";
inline constexpr std::string_view kRunningFile = "running.json";
inline constexpr std::string_view kEndedFile = "ended.json";

inline constexpr std::size_t kRoomBytes = 4096;  // of the disk, for each

struct ShimBegin {
  std::vector<std::string> argv;         // the first is looked for in PATH of `env` where it has no slash
  std::vector<std::string> environment;  // "NAME=value"
  std::string working_dir = "/";
  std::string root;                  // a folder that is to be its root; "": the machine's
  std::optional<std::int64_t> user;  // nullopt: the user of the runtime
  std::optional<std::int64_t> group;
  std::vector<std::string> procs;             // files cgroup.procs that it joins, one of each hierarchy
  std::vector<std::string> shim_procs;        // and those of the shim itself
  std::optional<std::int64_t> oom_score_adj;  // at least; one that has more keeps it
  bool alone = true;  // it is all that its group is for: with its end the rest of the group ends
  std::string log;    // path; "": nothing is kept
  std::int64_t log_bytes_max = std::int64_t{10} << 20;
  std::int64_t log_files_max = 5;
  std::string boot;  // boot ID of the machine; "": unknown
  bool operator==(const ShimBegin&) const = default;
};

struct ShimRunning {
  pid_t pid = 0;
  std::int64_t start_ticks = 0;  // with it the pid names a process for good
  base::WallTime began;
  bool operator==(const ShimRunning&) const = default;
};

struct ShimEnded {
  std::int64_t exit_code = 0;   // as shells count: 128 and the signal's number
  std::int64_t signal = 0;      // 0: it ended by itself
  std::string cannot_begin;     // why nothing ran; "" where something did
  base::WallTime began, ended;  // both the same where nothing ran
  std::int64_t log_lost = 0;    // lines of its log that the disk did not take
  bool with_machine = false;    // the machine stopped, and the container with it: its exit code is unknown
  bool operator==(const ShimEnded&) const = default;
};

std::string to_json(const ShimBegin& begin);
std::string to_json(const ShimRunning& running);
std::string to_json(const ShimEnded& ended);
// kUnsupported: of another schema.
Result<ShimBegin> parse_begin(std::string_view text);
Result<ShimRunning> parse_running(std::string_view text);
Result<ShimEnded> parse_ended(std::string_view text);

}  // namespace tidemark::runtime
