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

// Writes without reading first: `found` is the current value. A write of no bytes reaches no kernel, so empty is
// written as an empty line.
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

// Reverts a first pass that had no use, unless another program wrote meanwhile. Returns the current value if it is not
// the earlier one.
std::optional<std::string> put_back(const FileWrite& write, const std::string& found, std::string left,
                                    GroupWriter& writer, Buffer& buffer) {
  WriteReport done = compare_and_write({write.group, write.file, found, left}, writer, buffer);
  if (done.outcome == WriteOutcome::kRefused) return left;
  if (done.outcome == WriteOutcome::kOther) return std::move(done.found);
  return std::nullopt;
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
    return base::fail_errno(errno, base::cat("write ", base::in_quotes(text), " to ", group.place(file).text()));
  if (static_cast<std::size_t>(size) != text.size()) {
    return fail(ErrorKind::kIo, "write ", base::in_quotes(text), " to ", group.place(file).text(), ": only ", size,
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
  std::vector<std::optional<std::string>> left(writes.size());  // by the first pass; nullopt: the report is made
  for (const std::size_t at : order) {
    const FileWrite& write = writes[at];
    Look seen = look(write, buffer);
    if (seen.report) {
      reports[at] = std::move(*seen.report);
      continue;
    }
    left[at] = seen.found;
    reports[at].found = seen.found;
    const auto first = loosest(write.file, seen.version, seen.found, write.text);
    if (!first || same_value(write.file, seen.version, seen.found, *first)) continue;
    WriteReport done = put(write, *first, std::move(seen.found), writer);
    // The kernel may accept a refused value later, when the others are set; a vanished file stays gone.
    if (done.outcome == WriteOutcome::kWritten) left[at] = *first;
    if (done.outcome == WriteOutcome::kVanished) {
      reports[at] = std::move(done);
      left[at].reset();
    }
  }
  for (const std::size_t at : std::ranges::reverse_view(order)) {
    if (!left[at]) continue;
    FileWrite last = writes[at];
    if (last.expected) last.expected = left[at];
    WriteReport done = compare_and_write(last, writer, buffer);
    if (done.outcome == WriteOutcome::kOther) {
      reports[at] = std::move(done);
      continue;
    }
    const std::string& found = reports[at].found;
    const Version version = writes[at].group->version(writes[at].file).value_or(Version::kV1);
    // The value may be there since the first pass: it was written all the same.
    if (done.outcome == WriteOutcome::kAlready && !same_value(last.file, version, found, last.text)) {
      done.outcome = WriteOutcome::kWritten;
    }
    if (done.outcome == WriteOutcome::kRefused && found != *left[at]) {
      done.stands = put_back(last, found, std::move(*left[at]), writer, buffer);
    }
    done.found = std::move(reports[at].found);
    reports[at] = std::move(done);
  }
  return reports;
}

}  // namespace tidemark::linux
