// Cuts the answer of the API server for a pod's log into the part that a reader does not have yet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark::gateway {

// How far the log of one container was read. A pod's log is read by time, because the kubelet rotates its file: `time`
// of the last line, and how many lines have that time. The files of a YARN container are read by bytes.
struct LogPosition {
  std::string time{};
  std::int64_t lines = 0;
  std::int64_t output_bytes = 0;  // of stdout
  std::int64_t error_bytes = 0;   // of stderr
  bool operator==(const LogPosition&) const = default;
};
std::string encode(const LogPosition& position);
LogPosition decode_log_position(std::string_view text);  // the begin for wrong text

struct LogPart {
  std::string text;
  LogPosition next;
};

// `answer`: lines that begin with their time, from the second of `position.time` on. A line without its end is left for
// the next read.
LogPart new_lines(std::string_view answer, const LogPosition& position);

// Without bytes that are no UTF-8, and without control characters except line ends and tabs: a log goes into JSON and
// to terminals.
std::string printable(std::string_view text);

}  // namespace tidemark::gateway
