// The kernel's log by syslog(2), for whoever may not open /dev/kmsg: of a container the runtime keeps devices, and not
// this call, where it has CAP_SYSLOG. Nothing is taken from anybody else who reads the log.
//
// The call has no cursor: it hands out the last lines that fit into a buffer, and goes through all of the log for it
// (about a millisecond). New is what stands behind the line that was the last one; where that is not there any more
// everything is, and something may have been missed. Lines can only be told apart by their times (printk.time, which
// the kernels of distributions have on).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

struct KernelMessage;

// "<4>[25126.956670] text", and with the caller between ("[    1.000000][    T1] text"). Without a number of its own.
Result<KernelMessage> parse_ring_line(std::string_view line);

struct NewLines {
  std::string_view text;
  bool missed = false;  // something before them may be gone
};
// What stands behind the last `last` that is a whole line of `text`. Nothing was seen yet where that is empty.
NewLines lines_behind(std::string_view text, std::string_view last);

inline constexpr std::size_t kRingBytes = std::size_t{64} << 10;  // the stacks of some dozens of hung tasks

class KernelRing {
 public:
  // What is said from now on, or else all that fits. kDenied: it takes CAP_SYSLOG. kUnsupported: no such call, or lines
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
  bool looked_ = false;  // of what was seen then nothing is left: that is all, until somebody asks again
  std::int64_t lost_ = 0;
};

}  // namespace tidemark::linux
