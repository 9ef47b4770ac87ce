#include "linux/cgroup/write.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "linux/cgroup/limit.h"
#include "linux/cpu_set.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

bool is_cpuset(File file) {
  return file == File::kCpusetCpus || file == File::kCpusetMems;
}

bool is_protection(File file) {
  return file == File::kMemoryMin || file == File::kMemoryLow || file == File::kMemoryHigh;
}

// v2 shows quota and period and takes the quota alone.
std::string_view first_word(std::string_view text) {
  std::string_view word;
  Words words(without_line_end(text));
  return words.next(word) ? word : std::string_view();
}

// In v1's unit, as the kernel will hold it; nullopt: no number.
std::optional<std::int64_t> value_of(File file, Version version, std::string_view text) {
  const bool quota = version == Version::kV2 && file == File::kCpuQuota;
  auto value = quota ? parse_limit(first_word(text)) : parse_value(file, version, text);
  if (!value) return std::nullopt;
  if (*value > 0 && (file == File::kMemoryLimit || is_protection(file))) {
    static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
    return *value / page * page;
  }
  return *value;
}

WriteReport absent(Error error, std::string found) {
  const auto outcome = error.kind == ErrorKind::kUnsupported ? WriteOutcome::kMissing : WriteOutcome::kRefused;
  return {outcome, std::move(found), std::move(error)};
}

// Writes without looking: `found` is what is there. A write of no bytes reaches no kernel: empty is an empty line.
WriteReport put(const FileWrite& write, std::string_view text, std::string found, GroupWriter& writer) {
  auto done = writer.put(*write.group, write.file, text.empty() ? "\n" : text);
  if (!done) return absent(std::move(done).error(), std::move(found));
  return {*done ? WriteOutcome::kWritten : WriteOutcome::kVanished, std::move(found), {}};
}

// The report when nothing is to be written; else `found` alone.
struct Look {
  std::optional<WriteReport> report;
  std::string found;
  Version version = Version::kV1;
};

Look look(const FileWrite& write, Buffer& buffer) {
  TM_CHECK(write.group, "a group to write to");
  const auto text = write.group->read(write.file, buffer);
  if (!text) return {absent(text.error(), {}), {}, {}};
  if (!*text) return {WriteReport{WriteOutcome::kVanished, {}, {}}, {}, {}};
  Look out{{}, std::string(without_line_end(**text)), *write.group->version(write.file)};
  if (write.expected && !same_value(write.file, out.version, out.found, *write.expected)) {
    out.report = WriteReport{WriteOutcome::kOther, out.found, {}};
  }
  return out;
}

std::ptrdiff_t depth(const FileWrite& write) {
  const std::string& path = write.group->path();
  return path.empty() ? 0 : 1 + std::ranges::count(path, '/');
}

}  // namespace

std::string_view to_string(WriteOutcome outcome) {
  switch (outcome) {
    case WriteOutcome::kWritten:
      return "written";
    case WriteOutcome::kAlready:
      return "already";
    case WriteOutcome::kOther:
      return "other";
    case WriteOutcome::kVanished:
      return "vanished";
    case WriteOutcome::kMissing:
      return "missing";
    case WriteOutcome::kRefused:
      return "refused";
  }
  return "unknown";
}

Result<std::optional<std::size_t>> KernelWriter::put(const Group& group, File file, std::string_view text) {
  TM_TRY(const auto fd, group.open_to_write(file));
  if (!fd) return std::nullopt;
  const ssize_t size = ::write(fd->get(), text.data(), text.size());
  if (size < 0 && errno == ENODEV) return std::nullopt;
  if (size < 0)
    return base::fail_errno(errno, base::cat("write ", base::quoted(text), " to ", group.place(file).text()));
  if (static_cast<std::size_t>(size) != text.size()) {
    return fail(ErrorKind::kIo, "write ", base::quoted(text), " to ", group.place(file).text(), ": only ", size,
                " bytes were taken");
  }
  return text.size();
}

bool same_value(File file, Version version, std::string_view a, std::string_view b) {
  if (is_cpuset(file)) {
    const auto left = CpuSet::parse(a), right = CpuSet::parse(b);
    return left && right && *left == *right;
  }
  const auto left = value_of(file, version, a), right = value_of(file, version, b);
  if (left || right) return left == right;
  return without_line_end(a) == without_line_end(b);
}

std::optional<std::string> loosest(File file, Version version, std::string_view a, std::string_view b) {
  if (is_cpuset(file)) {
    const auto left = CpuSet::parse(a), right = CpuSet::parse(b);
    if (!left || !right) return std::nullopt;
    // v2: an empty set means the parent's.
    if (version == Version::kV2 && (left->empty() || right->empty())) return std::string();
    return (*left | *right).text();
  }
  if (file != File::kCpuQuota && !is_protection(file)) return std::nullopt;
  const auto left = value_of(file, version, a), right = value_of(file, version, b);
  if (!left || !right) return std::nullopt;
  auto text =
      value_text(file, version, *left == kUnlimited || *right == kUnlimited ? kUnlimited : std::max(*left, *right));
  if (!text) return std::nullopt;
  return std::move(*text);
}

WriteReport compare_and_write(const FileWrite& write, GroupWriter& writer, Buffer& buffer) {
  Look seen = look(write, buffer);
  if (seen.report) return std::move(*seen.report);
  if (same_value(write.file, seen.version, seen.found, write.text))
    return {WriteOutcome::kAlready, std::move(seen.found), {}};
  return put(write, write.text, std::move(seen.found), writer);
}

std::vector<WriteReport> write_levelled(std::span<const FileWrite> writes, GroupWriter& writer, Buffer& buffer) {
  std::vector<std::size_t> order(writes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair(depth(writes[a]), a) < std::pair(depth(writes[b]), b);
  });

  std::vector<WriteReport> reports(writes.size());
  std::vector<bool> open(writes.size());
  for (const std::size_t at : order) {
    const FileWrite& write = writes[at];
    Look seen = look(write, buffer);
    if (seen.report) {
      reports[at] = std::move(*seen.report);
      continue;
    }
    open[at] = true;
    reports[at].found = seen.found;
    const auto first = loosest(write.file, seen.version, seen.found, write.text);
    if (!first || same_value(write.file, seen.version, seen.found, *first)) continue;
    WriteReport done = put(write, *first, std::move(seen.found), writer);
    // What the kernel refused now it may take later, when the rest stands; what is gone stays gone.
    if (done.outcome == WriteOutcome::kVanished) {
      reports[at] = std::move(done);
      open[at] = false;
    }
  }
  for (const std::size_t at : std::ranges::reverse_view(order)) {
    if (!open[at]) continue;
    FileWrite last = writes[at];
    last.expected.reset();
    WriteReport done = compare_and_write(last, writer, buffer);
    const Version version = writes[at].group->version(writes[at].file).value_or(Version::kV1);
    // The value may be there since the first pass: it was written all the same.
    if (done.outcome == WriteOutcome::kAlready && !same_value(last.file, version, reports[at].found, last.text)) {
      done.outcome = WriteOutcome::kWritten;
    }
    done.found = std::move(reports[at].found);
    reports[at] = std::move(done);
  }
  return reports;
}

}  // namespace tidemark::linux
