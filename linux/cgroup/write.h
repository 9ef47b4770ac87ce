// Writing files of groups: one at a time, only where it changes something, and in an order that a kernel accepts.
// Which value, and whether at all, is decided elsewhere; what was there before is reported, for whoever must put it
// back.
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

// The rim: what hands the bytes to a kernel. The twin that keeps a kernel's rules on a folder: testing/kernel_rules.h.
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
  std::string found;           // what was there before, without the line end
  std::optional<Error> error;  // kRefused, kMissing; `code` is the errno
  // kRefused by write_levelled(), where not `found` is there now: what loosened could not be put back, or somebody else
  // wrote meanwhile.
  std::optional<std::string> stands{};
};

// Whether both texts mean the same to the kernel: numbers by value, "max" as none, memory in whole pages, processors as
// sets, of cpu.max the quota only.
bool same_value(File, Version, std::string_view a, std::string_view b);

// Between the look and the write somebody else may write: a kernel has no compare-and-swap for files. What he wrote is
// then not in `found`; the next look sees ours.
WriteReport compare_and_write(const FileWrite&, GroupWriter&, Buffer&);

// Many files of one tree, in two passes, so that no moment has a child above its parent: from the top down what loosens
// (a quota that grows, processors added to those that were there, more protected memory), then from the bottom up the
// values themselves, each over what the first pass left where one was expected. A report for each, in the order given;
// a refusal stops nothing else, and what was loosened for a value that is refused is put back.
std::vector<WriteReport> write_levelled(std::span<const FileWrite>, GroupWriter&, Buffer&);

// What is at least as loose as both: the text of the first pass. nullopt: this file knows no order.
std::optional<std::string> loosest(File, Version, std::string_view a, std::string_view b);

}  // namespace tidemark::linux
