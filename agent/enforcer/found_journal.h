// The restore journal: the values of the kernel's files before the agent wrote them, and the values it wrote. It is on
// tmpfs, because kernel values do not survive a reboot either. If a process dies at any point, the next one can restore
// everything.
//
//   {"schema":1,"boot":"6d0b…"}                                                        first line of the file
//   {"id":7,"group":"kubepods/besteffort","file":"cpu.cfs_quota_us","device":29,"inode":4711,
//    "strategy":"cpuSuppress","found":"-1"}                                            before the first write of a file
//   {"id":7,"writes":"120000"}                                                         before every write of it
//   {"id":7,"over":true}                                                               it is as it was, or gone
//
// A line is written before the kernel is, so every value of ours in the kernel is also here. An unfinished line was
// followed by no write, and is skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "linux/cgroup/files.h"
#include "linux/kernel_files.h"
#include "model/node_strategy.h"

namespace tidemark::agent {

inline constexpr std::int64_t kFoundSchema = 1;
inline constexpr std::size_t kFoundFilesMax = 50'000;
inline constexpr std::size_t kFoundValuesKept =
    8;  // the newest values of one file; any of them may stand in the kernel

struct FoundFile {
  std::string group;  // from the root of its hierarchy
  linux::File file = linux::File::kCpuQuota;
  linux::Identity identity;  // of the directory: a group created again with the same name is another group
  model::Strategy strategy = model::Strategy::kCpuSuppress;
  std::string found;
  std::vector<std::string> written;  // the newest last
  bool operator==(const FoundFile&) const = default;
};

using FoundFiles = std::map<std::uint32_t, FoundFile>;  // by id

// The content of the journal in the folder; empty if the file is missing or from before a reboot.
struct FoundReading {
  FoundFiles files;
  std::uint32_t last_id = 0;
  std::size_t lines = 0;
  std::size_t unreadable = 0;  // complete lines without valid content
  bool whole = false;          // same boot and no unfinished line: more can be appended
};
Result<FoundReading> read_found(const std::string& folder, std::string_view boot_id);
// Parses the text of a journal. kUnsupported: written by a newer version.
Result<FoundReading> parse_found(std::string_view text, std::string_view boot_id);

// Its owner is the only process of this machine that writes by the journal, or that will as soon as the journal can be
// read.
class FoundLock {
 public:
  // Creates the folder. kAlreadyExists: another process has the journal, and writes.
  static Result<FoundLock> take(const std::string& folder);

 private:
  friend class FoundJournal;
  explicit FoundLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

class FoundJournal {
 public:
  static Result<FoundJournal> open(const std::string& folder, std::string boot_id);
  // Takes the lock of that folder on success. On failure the lock stays with the caller, which reports the error and
  // tries again.
  static Result<FoundJournal> open(FoundLock& lock, const std::string& folder, std::string boot_id);

  // Whether a process has the journal of this folder now.
  static bool is_held(const std::string& folder);

  const FoundFiles& files() const { return reading_.files; }
  const FoundReading& read_at_start() const { return reading_; }

  // On success the line is in the file; on failure nothing counts. add() returns the id.
  Result<std::uint32_t> add(FoundFile file);
  struct Coming {
    std::uint32_t id = 0;
    std::string value;
  };
  Result<void> will_write(const std::vector<Coming>& values);
  Result<void> over(const std::vector<std::uint32_t>& ids);
  // Another writer changed the file: its value becomes the original value.
  Result<void> found_now(std::uint32_t id, std::string value);

 private:
  FoundJournal(std::string folder, std::string boot_id) : folder_(std::move(folder)), boot_id_(std::move(boot_id)) {}
  Result<void> append(std::string_view lines);
  Result<void> rewrite();
  Result<void> go_on();

  std::string folder_;
  std::string boot_id_;
  Fd lock_;
  Fd file_;
  std::int64_t bytes_ = 0;
  std::int64_t rewrite_at_ = 0;
  FoundReading reading_;
};

// The name of a file in the journal: v1's, or v2's if v1 has none.
std::string_view found_name(linux::File file);

// Identifies the boot of the machine (/proc/sys/kernel/random/boot_id); "" if unreadable.
std::string boot_id(const std::string& proc_root);
// Without it no journal is read or created: the original values would be treated as those of another boot and
// discarded.
Result<void> needs_boot_id(std::string_view boot_id);

}  // namespace tidemark::agent
