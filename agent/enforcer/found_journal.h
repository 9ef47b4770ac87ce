// What stood in the kernel's files before this agent wrote to them, and what it wrote: on tmpfs, since it dies with the
// machine as the kernel's values do. Whoever comes after a process that died anywhere can put everything back.
//
//   {"schema":1,"boot":"6d0b…"}                                                        first line of the file
//   {"id":7,"group":"kubepods/besteffort","file":"cpu.cfs_quota_us","device":29,"inode":4711,
//    "strategy":"cpuSuppress","found":"-1"}                                            before the first write of a file
//   {"id":7,"writes":"120000"}                                                         before every write of it
//   {"id":7,"over":true}                                                               it is as it was, or gone
//
// A line stands there before the kernel is asked for anything, so the kernel never has a value of ours that is not
// here. A line that its writer did not finish was followed by no write, and is passed over.
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
inline constexpr std::size_t kFoundValuesKept = 8;  // of one file, the newest: what may stand there by our hand

struct FoundFile {
  std::string group;  // from the root of its hierarchy
  linux::File file = linux::File::kCpuQuota;
  linux::Identity identity;  // of the directory: a group that is made again under the name is another one
  model::Strategy strategy = model::Strategy::kCpuSuppress;
  std::string found;
  std::vector<std::string> written;  // the newest last
  bool operator==(const FoundFile&) const = default;
};

using FoundFiles = std::map<std::uint32_t, FoundFile>;  // by id

// What a journal in the folder says; nothing where there is none, or where it is of another life of the machine.
struct FoundReading {
  FoundFiles files;
  std::uint32_t last_id = 0;
  std::size_t lines = 0;
  std::size_t unreadable = 0;  // whole lines that say nothing
  bool whole = false;          // of this life of the machine, up to a line that was finished: more can be appended
};
Result<FoundReading> read_found(const std::string& folder, std::string_view boot_id);
// The text of such a file. kUnsupported: of a newer version.
Result<FoundReading> parse_found(std::string_view text, std::string_view boot_id);

// Whoever has it is the one process of this machine that writes by the journal, or is going to as soon as it can be
// read.
class FoundLock {
 public:
  // Makes the folder. kAlreadyExists: another process has the journal, and writes.
  static Result<FoundLock> take(const std::string& folder);

 private:
  friend class FoundJournal;
  explicit FoundLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

class FoundJournal {
 public:
  static Result<FoundJournal> open(const std::string& folder, std::string boot_id);
  // With the lock of that folder, which is the journal's when it answers well. Otherwise it is the caller's still: he
  // tells why it cannot be read, and tries again.
  static Result<FoundJournal> open(FoundLock& lock, const std::string& folder, std::string boot_id);

  // Whether a process has the journal of this folder now.
  static bool is_held(const std::string& folder);

  const FoundFiles& files() const { return reading_.files; }
  const FoundReading& read_at_start() const { return reading_; }

  // Each is on the file when it answers well; otherwise nothing of it counts. add() answers the id.
  Result<std::uint32_t> add(FoundFile file);
  struct Coming {
    std::uint32_t id = 0;
    std::string value;
  };
  Result<void> will_write(const std::vector<Coming>& values);
  Result<void> over(const std::vector<std::uint32_t>& ids);
  // Somebody else set the file since: his value is what it goes back to.
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

// The name under which the journal has a file: v1's, or v2's where v1 has none.
std::string_view found_name(linux::File file);

// Which life of the machine this is (/proc/sys/kernel/random/boot_id); "" where nobody says.
std::string boot_id(const std::string& proc_root);
// Without it no journal is read or begun: what was found would be taken for that of another life, and thrown away.
Result<void> needs_boot_id(std::string_view boot_id);

}  // namespace tidemark::agent
