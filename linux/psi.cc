#include "linux/psi.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/text.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

constexpr std::int32_t kAllCenti = 10'000;

// "avg10=3.03": always two digits behind the point.
std::optional<std::int32_t> parse_average(std::string_view word, std::string_view name) {
  if (!word.starts_with(name)) return std::nullopt;
  word.remove_prefix(name.size());
  const std::size_t point = word.find('.');
  if (point == std::string_view::npos || point + 3 != word.size()) return std::nullopt;
  const auto whole = parse_count(word.substr(0, point));
  const auto hundredths = parse_count(word.substr(point + 1));
  if (!whole || !hundredths || *whole > kAllCenti / 100) return std::nullopt;
  const auto centi = static_cast<std::int32_t>(*whole * 100 + *hundredths);
  if (centi > kAllCenti) return std::nullopt;
  return centi;
}

std::optional<PressureLine> parse_rest(Words& words) {
  std::string_view avg10, avg60, avg300, total, extra;
  if (!words.next(avg10) || !words.next(avg60) || !words.next(avg300) || !words.next(total) || words.next(extra))
    return std::nullopt;
  const auto a = parse_average(avg10, "avg10=");
  const auto b = parse_average(avg60, "avg60=");
  const auto c = parse_average(avg300, "avg300=");
  constexpr std::string_view kTotal = "total=";
  const auto us = total.starts_with(kTotal) ? parse_count(total.substr(kTotal.size())) : std::nullopt;
  if (!a || !b || !c || !us) return std::nullopt;
  return PressureLine{*a, *b, *c, *us};
}

}  // namespace

Result<Pressure> parse_pressure(std::string_view text) {
  Pressure out;
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    std::string_view kind;
    Words words(line);
    auto* wanted = !words.next(kind) ? nullptr : kind == "some" ? &out.some : kind == "full" ? &out.full : nullptr;
    if (wanted) *wanted = parse_rest(words);
    if (!wanted || !*wanted)
      return fail(ErrorKind::kInvalid, "a line of pressure is wanted, found ", base::in_quotes(line));
  }
  if (!out.some && !out.full) return fail(ErrorKind::kInvalid, "lines of pressure are wanted, found nothing");
  return out;
}

Result<Pressure> read_pressure(const Folder& proc, const char* resource, Buffer& buffer) {
  const Place place{proc.path(), {}, resource};
  TM_TRY(const auto text, proc.read(resource, buffer));
  if (!text) {
    return fail(ErrorKind::kUnsupported, place.text(),
                " is not there: this kernel does not measure it, or was started with psi=0");
  }
  auto pressure = parse_pressure(*text);
  if (!pressure) return fail(std::move(pressure).error().within(place.text()));
  return pressure;
}

Result<PressureTrigger> PressureTrigger::arm(Fd file, const PressureLimit& limit, const Place& place) {
  constexpr std::int64_t kWindowMinUs = 500'000, kWindowMaxUs = 10'000'000, kWindowOfAllUs = 2'000'000;
  if (limit.window_us < kWindowMinUs || limit.window_us > kWindowMaxUs || limit.stall_us <= 0 ||
      limit.stall_us > limit.window_us) {
    return fail(ErrorKind::kInvalid, "a window of ", kWindowMinUs, "..", kWindowMaxUs,
                " us and a stall within it are wanted, found ", limit.stall_us, " of ", limit.window_us);
  }
  const std::string text = base::cat(limit.full ? "full " : "some ", limit.stall_us, " ", limit.window_us);
  // With the zero at the end, which the kernel writes over.
  const ssize_t size = ::write(file.get(), text.c_str(), text.size() + 1);
  if (size == static_cast<ssize_t>(text.size() + 1)) return PressureTrigger(std::move(file));
  const int error = size < 0 ? errno : EIO;
  Error made = base::fail_errno(error, base::cat("watch the pressure ", place.text(), " for \"", text, "\"")).error();
  if (error == EOPNOTSUPP) made.kind = ErrorKind::kUnsupported;
  if (error == EINVAL && limit.window_us % kWindowOfAllUs != 0) {
    made.kind = ErrorKind::kDenied;
    made.message += ": without CAP_SYS_RESOURCE a window is a multiple of 2 s";
  }
  return fail(std::move(made));
}

}  // namespace tidemark::linux
