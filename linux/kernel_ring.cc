#include "linux/kernel_ring.h"

#include <sys/klog.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <span>
#include <utility>

#include "base/text.h"
#include "linux/kmsg.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

constexpr int kReadAll = 3;  // SYSLOG_ACTION_READ_ALL
constexpr std::int64_t kMicroseconds = 1'000'000;
constexpr std::size_t kMicrosecondDigits = 6;
constexpr std::int64_t kRingPriorities = 8;  // the rest of the number is the facility

// Removes a bracketed prefix and returns its content.
std::optional<std::string_view> cut_bracketed(std::string_view& text, char open, char close) {
  const std::size_t end = text.find(close);
  if (!text.starts_with(open) || end == std::string_view::npos) return std::nullopt;
  const std::string_view inner = text.substr(1, end - 1);
  text.remove_prefix(end + 1);
  return inner;
}

// "25126.956670", with blanks in front.
std::optional<std::int64_t> microseconds(std::string_view text) {
  text = base::trim(text);
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos || text.size() - point - 1 != kMicrosecondDigits) return std::nullopt;
  const auto seconds = parse_count(text.substr(0, point)), rest = parse_count(text.substr(point + 1));
  if (!seconds || !rest || *seconds >= std::numeric_limits<std::int64_t>::max() / kMicroseconds) return std::nullopt;
  return *seconds * kMicroseconds + *rest;
}

// A line without its end, which is taken away with it.
std::string_view cut_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view last_line(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text.substr(text.rfind('\n') + 1);  // npos + 1: from the beginning
}

Result<std::string_view> read_ring(std::span<char> space) {
  const int got = ::klogctl(kReadAll, space.data(), static_cast<int>(space.size()));
  if (got >= 0) return std::string_view(space.data(), static_cast<std::size_t>(got));
  const int error = errno;
  Error made = base::fail_errno(error, "read the kernel's log by syslog(2)").error();
  if (error == ENOSYS) made.kind = ErrorKind::kUnsupported;
  if (error == EPERM || error == EACCES) made.kind = ErrorKind::kDenied;
  return fail(std::move(made));
}

}  // namespace

Result<KernelMessage> parse_ring_line(std::string_view line) {
  std::string_view rest = line;
  const auto head = cut_bracketed(rest, '<', '>');
  const auto priority = head ? parse_count(*head) : std::nullopt;
  const auto time = cut_bracketed(rest, '[', ']');
  const auto since_boot = time ? microseconds(*time) : std::nullopt;
  if (rest.starts_with('[')) (void)cut_bracketed(rest, '[', ']');  // the caller: a text has a blank in front
  if (!priority || !since_boot || !rest.starts_with(' ')) {
    return fail(ErrorKind::kInvalid, "a priority, a time and a text are wanted, found ", base::in_quotes(line));
  }
  return KernelMessage{static_cast<std::int32_t>(*priority % kRingPriorities), 0, *since_boot, rest.substr(1)};
}

NewLines lines_behind(std::string_view text, std::string_view last) {
  if (last.empty()) return {text};
  for (std::size_t at = text.rfind(last); at != std::string_view::npos; at = text.rfind(last, at - 1)) {
    const std::size_t end = at + last.size();
    const bool whole = (at == 0 || text[at - 1] == '\n') && (end == text.size() || text[end] == '\n');
    if (whole) return {text.substr(std::min(end + 1, text.size()))};
    if (at == 0) break;
  }
  return {text, true};
}

Result<KernelRing> KernelRing::open(bool from_now) {
  KernelRing out;
  TM_TRY_VOID(out.look());
  if (!out.unread_.empty()) {
    if (const auto newest = parse_ring_line(last_line(out.unread_)); !newest) {
      Error error = newest.error();
      error.kind = ErrorKind::kUnsupported;
      error.message = base::cat("the kernel's log by syslog(2), with printk.time: ", error.message);
      return fail(std::move(error));
    }
  }
  out.looked_ = false;
  if (from_now) out.unread_ = {};
  return out;
}

Result<std::optional<KernelMessage>> KernelRing::next() {
  if (unread_.empty()) {
    looked_ = !looked_;
    if (!looked_) return std::nullopt;
    TM_TRY_VOID(look());
  }
  while (!unread_.empty()) {
    if (const auto message = parse_ring_line(cut_line(unread_))) return *message;
  }
  looked_ = false;
  return std::nullopt;
}

Result<void> KernelRing::look() {
  TM_TRY(const std::string_view text, read_ring(buffer_.space()));
  const NewLines found = lines_behind(text, last_);
  lost_ += found.missed ? 1 : 0;
  unread_ = found.text;
  if (!unread_.empty()) last_ = last_line(unread_);
  return {};
}

}  // namespace tidemark::linux
