// Writes files of groups: one at a time, only if the value changes, and in an order that a kernel accepts. The caller
// decides the values; the previous value is returned so that the caller can restore it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/group.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

// The interface that writes to a kernel. The twin that follows a kernel's rules on a folder: testing/kernel_rules.h.
class GroupWriter {
 public:
  virtual ~GroupWriter() = default;
  // In one call of the kernel, which does nothing when the text has no bytes. nullopt: the group is gone.
  // kUnsupported: it has no such file. Otherwise an error has the errno in `code`.
  virtual Result<std::optional<std::size_t>> put(const Group&, File, std::string_view text) = 0;
};

class KernelWriter final : public GroupWriter {
 public:
  Result<std::optional<std::size_t>> put(const Group&, File, std::string_view text) override;
};

struct FileWrite {
  const Group* group = nullptr;
  File file = File::kCpuShares;
  std::string text;                     // as value_text() or CpuSet::text() made it
  std::optional<std::string> expected;  // written only where this is there now; nullopt: over anything
};

enum class WriteOutcome : std::uint8_t {
  kWritten,
  kAlready,   // the value was there: nothing written
  kOther,     // another value than the expected one is there: nothing written
  kVanished,  // the group is gone
  kMissing,   // the group has no such file
  kRefused,   // the kernel said no, or could not be asked: `error`
};
std::string_view to_string(WriteOutcome);

struct WriteReport {
  WriteOutcome outcome = WriteOutcome::kRefused;
  std::string found;           // the previous value, without the line end
  std::optional<Error> error;  // kRefused, kMissing; `code` is the errno
  // Set if write_levelled() was kRefused and `found` is not the current value: a loosened value could not be restored,
  // or another program wrote meanwhile.
  std::optional<std::string> stands{};
};

// Whether both texts mean the same to the kernel: numbers by value, "max" as none, memory in whole pages, processors as
// sets, of cpu.max the quota only.
bool same_value(File, Version, std::string_view a, std::string_view b);

// Another program may write between the read and the write: the kernel has no compare-and-swap for files. Its value is
// then not in `found`; the next look sees ours.
WriteReport compare_and_write(const FileWrite&, GroupWriter&, Buffer&);

// Writes many files of one tree, in two passes, so that a child never exceeds its parent: first from the top down what
// loosens (a larger quota, more CPUs, more protected memory), then from the bottom up the values themselves, each over
// the value of the first pass if one was expected. Returns a report for each, in the given order; a refusal stops
// nothing else, and a loosened file whose value is refused is restored.
std::vector<WriteReport> write_levelled(std::span<const FileWrite>, GroupWriter&, Buffer&);

// A value at least as loose as both: the text of the first pass. nullopt: the values of this file have no order.
std::optional<std::string> loosest(File, Version, std::string_view a, std::string_view b);

}  // namespace tidemark::linux
