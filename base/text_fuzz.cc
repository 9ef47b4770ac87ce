// Any text as a number, a time, a duration and base64: read or refused, and what was read is written so that it reads
// back as the same.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/base64.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::base;
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  if (const auto number = parse_int(text)) TM_CHECK(parse_int(cat(*number)) == number, "the same number");
  if (const auto number = parse_uint(text)) TM_CHECK(parse_uint(cat(*number)) == number, "the same number");
  if (const auto number = parse_double(text)) {
    TM_CHECK(std::isnan(*number) || parse_double(cat(*number)) == number, "the same number");
  }
  if (const auto moment = parse_rfc3339(text)) {
    // Beyond the years of four digits a time has no text of this form.
    constexpr WallTime kFirst{-std::chrono::hours(24) * 365 * 100}, kLast{std::chrono::hours(24) * 365 * 100};
    const auto again = parse_rfc3339(format_rfc3339_micro(*moment));
    if (*moment > kFirst && *moment < kLast) {
      TM_CHECK(again && *moment - *again < std::chrono::microseconds(1) && *moment >= *again, "the same moment");
    }
  }
  if (const auto duration = parse_go_duration(text)) {
    TM_CHECK(parse_go_duration(format_go_duration(*duration)) == duration, "the same duration");
  }

  const auto decoded = base64_decode(text);
  if (decoded) TM_CHECK(base64_decode(base64_encode(*decoded)) == decoded, "the same bytes");
  TM_CHECK(base64_decode(base64_encode(text)) == text, "encoding loses nothing");
  for (const auto padding : {Base64Padding::kRequired, Base64Padding::kNone}) {
    const auto read = read_base64(text, padding);
    TM_CHECK(read.wrong_at <= size && read.bytes.size() <= size, "within the text");
    if (padding == Base64Padding::kRequired) TM_CHECK(read.good == decoded.has_value(), "both forms agree");
  }

  TM_CHECK(valid_utf8(in_quotes(text)), "foreign text in a message is text");
  TM_CHECK(trim(trim(text)) == trim(text) && lower(lower(text)) == lower(text), "twice is once");
  std::size_t letters = 0;
  for (const auto piece : split(text, ',')) letters += piece.size() + 1;
  TM_CHECK(letters == size + 1, "nothing is lost between the pieces");
  constexpr std::string_view kWords[] = {"listen", "leader-elect", "log-level"};
  (void)nearest(text, kWords);
  (void)parse_go_bool(text);
  return 0;
}
