// The kernel's log by syslog(2), for processes that may not open /dev/kmsg: a container runtime blocks the device, but
// not this call, if the container has CAP_SYSLOG. Other readers of the log lose nothing.
//
// The call has no cursor: it returns the last lines that fit into a buffer, and walks the whole log for it (about a
// millisecond). New lines are those after the last known line; if that is gone, all are new, and some may have been
// missed. Only their times distinguish lines (printk.time, which distribution kernels enable).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

struct KernelMessage;

// "<4>[25126.956670] text", optionally with the caller ("[    1.000000][    T1] text"). It has no sequence number.
Result<KernelMessage> parse_ring_line(std::string_view line);

struct NewLines {
  std::string_view text;
  bool missed = false;  // something before them may be gone
};
// The lines after the last occurrence of `last` as a whole line in `text`. If `last` is empty, nothing was seen yet.
NewLines lines_behind(std::string_view text, std::string_view last);

inline constexpr std::size_t kRingBytes = std::size_t{64} << 10;  // the stacks of some dozens of hung tasks

class KernelRing {
 public:
  // Reads messages from now on, or else all that fit. kDenied: needs CAP_SYSLOG. kUnsupported: no such call, or lines
  // without a time.
  static Result<KernelRing> open(bool from_now);

  // Without waiting; nullopt: nothing new. Lines that are no messages are skipped.
  Result<std::optional<KernelMessage>> next();

  std::int64_t lost() const { return lost_; }

 private:
  KernelRing() = default;
  Result<void> look();

  Buffer buffer_{kRingBytes};
  std::string_view unread_;  // in the buffer
  std::string last_;
  bool looked_ = false;  // everything seen was returned: that is all until the next request
  std::int64_t lost_ = 0;
};

}  // namespace tidemark::linux
