#include "linux/cgroup/io.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/reading.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

struct Device {
  std::int32_t major = 0, minor = 0;
};

// "254:16"
std::optional<Device> parse_device(std::string_view word) {
  const std::size_t colon = std::min(word.find(':'), word.size());
  const auto major = parse_count(word.substr(0, colon));
  const auto minor = parse_count(word.substr(std::min(colon + 1, word.size())));
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (!major || !minor || *major > kMax || *minor > kMax) return std::nullopt;
  return Device{static_cast<std::int32_t>(*major), static_cast<std::int32_t>(*minor)};
}

DeviceIo* find(std::vector<DeviceIo>& all, Device device) {
  const auto found = std::ranges::find_if(
      all, [&](const DeviceIo& one) { return one.major == device.major && one.minor == device.minor; });
  return found == all.end() ? nullptr : &*found;
}

std::unexpected<Error> refused(std::string_view line) {
  return fail(ErrorKind::kInvalid, "a device and what it moved are wanted, found ", base::in_quotes(line));
}

// The counters of one device from one line.
struct Counted {
  std::optional<Device> device;
  std::optional<std::int64_t> read_bytes, write_bytes, read_count, write_count, discard_bytes;

  // A device that did nothing yet may stand there without numbers.
  Result<void> add_to(std::vector<DeviceIo>& out, std::string_view line) const {
    if (!device || (!read_bytes && !write_bytes && !read_count && !write_count)) return {};
    if (!read_bytes || !write_bytes) return refused(line);
    out.push_back({device->major, device->minor, *read_bytes, *write_bytes, read_count, write_count, discard_bytes});
    return {};
  }
};

// "254:0 Read 4096": calls visit(device, name, value) for each; lines of another form are sums ("Total 0").
template <class Visit>
Result<void> each_v1(std::string_view text, Visit visit) {
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    std::string_view first, name, number, extra;
    Words words(line);
    if (!words.next(first)) return refused(line);
    if (first == "Total") continue;
    const auto device = parse_device(first);
    const auto value = words.next(name) && words.next(number) ? parse_count(number) : std::nullopt;
    if (!device || !value || words.next(extra)) return refused(line);
    visit(*device, name, *value);
  }
  return {};
}

}  // namespace

Result<void> parse_io_v2(std::string_view text, std::vector<DeviceIo>& out) {
  out.clear();
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    Counted counted;
    Words words(line);
    for (std::string_view word; words.next(word);) {
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos) {
        // Some kernels leave out the line end behind a device without numbers, so that two devices stand in one line.
        TM_TRY_VOID(counted.add_to(out, line));
        counted = {.device = parse_device(word),
                   .read_bytes = {},
                   .write_bytes = {},
                   .read_count = {},
                   .write_count = {},
                   .discard_bytes = {}};
        if (!counted.device) return refused(line);
        continue;
      }
      if (!counted.device) return refused(line);
      const std::string_view name = word.substr(0, equals);
      std::optional<std::int64_t>* wanted = name == "rbytes"   ? &counted.read_bytes
                                            : name == "wbytes" ? &counted.write_bytes
                                            : name == "rios"   ? &counted.read_count
                                            : name == "wios"   ? &counted.write_count
                                            : name == "dbytes" ? &counted.discard_bytes
                                                               : nullptr;
      if (!wanted) continue;  // cost.usage, and what else a controller adds
      *wanted = parse_count(word.substr(equals + 1));
      if (!*wanted) return refused(line);
    }
    TM_TRY_VOID(counted.add_to(out, line));
  }
  return {};
}

Result<void> parse_io_bytes_v1(std::string_view text, std::vector<DeviceIo>& out) {
  out.clear();
  constexpr std::int64_t kNotSaid = -1;
  TM_TRY_VOID(each_v1(text, [&](Device device, std::string_view name, std::int64_t value) {
    DeviceIo* found = find(out, device);
    if (!found) found = &out.emplace_back(DeviceIo{device.major, device.minor, kNotSaid, kNotSaid, {}, {}, {}});
    if (name == "Read") found->read_bytes = value;
    if (name == "Write") found->write_bytes = value;
    if (name == "Discard") found->discard_bytes = value;
  }));
  if (std::ranges::any_of(
          out, [&](const DeviceIo& one) { return one.read_bytes == kNotSaid || one.write_bytes == kNotSaid; })) {
    return refused(text);
  }
  return {};
}

Result<void> parse_io_counts_v1(std::string_view text, std::vector<DeviceIo>& out) {
  return each_v1(text, [&](Device device, std::string_view name, std::int64_t value) {
    DeviceIo* found = find(out, device);
    if (!found) return;  // seen by the second file only: it will be in both the next time
    if (name == "Read") found->read_count = value;
    if (name == "Write") found->write_count = value;
  });
}

Result<bool> read_io(const Group& group, Buffer& buffer, std::vector<DeviceIo>& out) {
  const auto read = [&](File file, auto parse) -> Result<bool> {
    TM_TRY(const auto text, group.read(file, buffer));
    if (!text) return false;
    auto parsed = parse(*text, out);
    if (!parsed) return fail(std::move(parsed).error().within(group.place(file).text()));
    return true;
  };
  out.clear();
  if (group.version(File::kIoBytes) == Version::kV2) return read(File::kIoBytes, parse_io_v2);
  TM_TRY(const bool there, read(File::kIoBytes, parse_io_bytes_v1));
  if (!there) return false;
  return read(File::kIoOperations, parse_io_counts_v1);
}

}  // namespace tidemark::linux
