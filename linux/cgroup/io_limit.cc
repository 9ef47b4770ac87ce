#include "linux/cgroup/io_limit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/text.h"

namespace tidemark::linux {
namespace {

constexpr std::string_view kReadV1 = "blkio.throttle.read_bps_device", kWriteV1 = "blkio.throttle.write_bps_device";
constexpr std::string_view kMaxV2 = "io.max";
constexpr std::string_view kNone = "max";

// nullopt: no such line. Else the text after the device.
std::optional<std::string_view> line_of(std::string_view text, DiskNumber disk) {
  const std::string name = disk.text();
  for (const std::string_view line : base::split(text, '\n')) {
    const auto end = line.find(' ');
    if (end != std::string_view::npos && line.substr(0, end) == name) return base::trim(line.substr(end + 1));
  }
  return std::nullopt;
}

Result<std::int64_t> number(std::string_view text) {
  const auto value = base::parse_int(text);
  if (!value || *value < 0) return fail(ErrorKind::kInvalid, "wanted bytes a second, found ", base::in_quotes(text));
  return *value;
}

Result<std::string_view> text_of(const std::string& file, Buffer& buffer) {
  TM_TRY(const auto text, read_path(file, buffer));
  if (!text) return fail(ErrorKind::kUnsupported, file, " is not there");
  return *text;
}

Result<void> put(const std::string& file, const std::string& text) {
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT) return fail(ErrorKind::kUnsupported, file, " is not there");
  if (!fd) return base::fail_errno(errno, base::cat("open ", file));
  if (::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
  return base::fail_errno(errno, base::cat("write ", base::in_quotes(text), " to ", file));
}

std::string in(const std::string& group, std::string_view name) {
  return base::cat(group, "/", name);
}

}  // namespace

std::string DiskNumber::text() const {
  return base::cat(major, ":", minor);
}

Result<DiskNumber> disk_of(const std::string& folder, const std::string& sys_root, Buffer& buffer) {
  struct ::stat found{};
  if (::stat(folder.c_str(), &found) != 0) return base::fail_errno(errno, base::cat("look at ", folder));
  const DiskNumber own{::major(found.st_dev), ::minor(found.st_dev)};
  const std::string place = base::cat(sys_root, "/dev/block/", own.text());
  if (::access(place.c_str(), F_OK) != 0) {
    return fail(ErrorKind::kUnsupported, folder, " lies on no disk of this machine (device ", own.text(), ")");
  }
  if (::access((place + "/partition").c_str(), F_OK) != 0) return own;
  TM_TRY(const auto text, text_of(place + "/../dev", buffer));
  const auto parts = base::split(base::trim(text), ':');
  const auto major = base::parse_int(parts.front()), minor = base::parse_int(parts.back());
  if (parts.size() != 2 || !major || !minor) {
    return fail(ErrorKind::kInvalid, place, "/../dev: wanted MAJOR:MINOR, found ", base::in_quotes(text));
  }
  return DiskNumber{static_cast<std::uint32_t>(*major), static_cast<std::uint32_t>(*minor)};
}

Result<std::optional<std::int64_t>> parse_throttle_v1(std::string_view text, DiskNumber disk) {
  const auto found = line_of(text, disk);
  if (!found) return std::nullopt;
  TM_TRY(const std::int64_t value, number(*found));
  return value;
}

Result<IoLimit> parse_io_max(std::string_view text, DiskNumber disk) {
  IoLimit out;
  const auto found = line_of(text, disk);
  if (!found) return out;
  for (const std::string_view each : base::split(*found, ' ')) {
    const auto at = each.find('=');
    if (at == std::string_view::npos)
      return fail(ErrorKind::kInvalid, "wanted KEY=VALUE, found ", base::in_quotes(each));
    const std::string_view key = each.substr(0, at), value = each.substr(at + 1);
    if (value == kNone || (key != "rbps" && key != "wbps")) continue;
    TM_TRY((key == "rbps" ? out.read_bytes_s : out.write_bytes_s), number(value));
  }
  return out;
}

Result<IoLimit> read_io_limit(const std::string& group, Version version, DiskNumber disk, Buffer& buffer) {
  if (version == Version::kV2) {
    TM_TRY(const auto text, text_of(in(group, kMaxV2), buffer));
    return parse_io_max(text, disk);
  }
  IoLimit out;
  TM_TRY(const auto reads, text_of(in(group, kReadV1), buffer));
  TM_TRY(out.read_bytes_s, parse_throttle_v1(reads, disk));
  TM_TRY(const auto writes, text_of(in(group, kWriteV1), buffer));
  TM_TRY(out.write_bytes_s, parse_throttle_v1(writes, disk));
  return out;
}

Result<void> write_io_limit(const std::string& group, Version version, DiskNumber disk, const IoLimit& limit) {
  if (version == Version::kV2) {
    const auto value = [](std::optional<std::int64_t> bytes) {
      return bytes ? std::to_string(*bytes) : std::string(kNone);
    };
    return put(in(group, kMaxV2),
               base::cat(disk.text(), " rbps=", value(limit.read_bytes_s), " wbps=", value(limit.write_bytes_s)));
  }
  // 0 takes the limit away.
  TM_TRY_VOID(put(in(group, kReadV1), base::cat(disk.text(), " ", limit.read_bytes_s.value_or(0))));
  return put(in(group, kWriteV1), base::cat(disk.text(), " ", limit.write_bytes_s.value_or(0)));
}

}  // namespace tidemark::linux
