#include "linux/psi.h"

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

}  // namespace tidemark::linux
