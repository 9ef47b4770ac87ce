// Messages of the kernel's log (/dev/kmsg, or syslog(2)) that concern us: out-of-memory kills, hung tasks, stuck CPUs.
// An agent shows these beside its own last action.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "linux/kernel_files.h"
#include "linux/kernel_ring.h"

namespace tidemark::linux {

struct KernelMessage {
  std::int32_t priority = 0;  // 0 (emergency) .. 7 (debug)
  std::int64_t sequence = 0;  // 0 where the kernel does not tell
  std::int64_t since_boot_us = 0;
  std::string_view text;  // the first line: what follows are names of devices
};
Result<KernelMessage> parse_kernel_message(std::string_view record);

enum class KernelIncidentKind : std::uint8_t {
  kOomKill,     // the victim and the limit, with the groups (since 5.0)
  kOomKilled,   // the kernel's second line about the same kill: which process, how much memory
  kHungTask,    // waits for something uninterruptibly, for minutes
  kSoftLockup,  // a processor that runs kernel code and does not schedule
  kHardLockup,  // a processor that takes no interrupt
  kRcuStall,    // a processor that keeps the others waiting
};
std::string_view to_string(KernelIncidentKind);

struct KernelIncident {
  KernelIncidentKind kind = KernelIncidentKind::kOomKill;
  std::optional<pid_t> pid;
  std::string_view task;         // the kernel's name of the task, cut at 15 letters; empty: unknown
  std::string_view group;        // kOomKill: the victim's memory group, with the slash in front
  std::string_view limit_group;  // kOomKill: the group whose limit was hit; empty: the machine ran out of memory
  std::optional<std::int64_t> anon_bytes;  // kOomKilled
  std::optional<int> cpu;
  std::optional<std::int64_t> seconds;  // how long it hung or was stuck
};
// nullopt: none of these. Fields missing from the text have no value. Points into the text.
std::optional<KernelIncident> classify_kernel_message(std::string_view text);

inline constexpr std::size_t kKernelRecordBytes = 8192;  // the longest record that the kernel hands out

// In the place of a path: by the call, and not by a file.
inline constexpr std::string_view kBySyslog = "syslog";

class KernelLog {
 public:
  enum class From : std::uint8_t { kBeginning, kNow };
  // A file with a record a line serves as well. kUnsupported: no such file or call; kDenied: it takes CAP_SYSLOG.
  static Result<KernelLog> open(const std::string& path, From);

  // Without waiting; nullopt: nothing new. Records that are no messages are skipped.
  Result<std::optional<KernelMessage>> next();

  bool is_dear() const { return ring_.has_value(); }                   // to ask, also where there is nothing new
  std::int64_t lost() const { return ring_ ? ring_->lost() : lost_; }  // how often something may be gone unread

 private:
  KernelLog(Fd fd, std::string path, bool device, off_t at)
      : fd_(std::move(fd)), path_(std::move(path)), device_(device), at_(at) {}
  explicit KernelLog(KernelRing ring) : ring_(std::move(ring)) {}
  Result<std::optional<std::string_view>> next_record();

  std::optional<KernelRing> ring_;  // nullopt: a file is read, by what follows
  Fd fd_;
  std::string path_;
  bool device_ = false;
  off_t at_ = 0;  // of a plain file
  Buffer buffer_{kKernelRecordBytes};
  std::int64_t lost_ = 0;
};

}  // namespace tidemark::linux
