// Any bytes are a time zone file or are refused; in every zone local times and moments are consistent.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/time_zone.h"

namespace {

using tidemark::model::TimeZone;

constexpr std::int64_t kDay_s = 86'400;

void check(const TimeZone& zone, std::int64_t utc_s) {
  const std::int64_t local = zone.local(utc_s);
  const std::int64_t first = zone.moment(local);
  TM_CHECK(first <= utc_s, "the first moment with this local time");
  TM_CHECK(zone.moment(local + kDay_s * 10) > first, "time moves forward");
}

void append(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

// A file with correct lengths: the fuzzer chooses the changes, offsets and the rule at the end.
std::string well_formed(std::string_view bytes) {
  const auto take = [&](int count) {
    std::uint64_t value = 0;
    for (; count > 0 && !bytes.empty(); --count, bytes.remove_prefix(1))
      value = value << 8 | static_cast<std::uint8_t>(bytes[0]);
    return value;
  };
  const std::uint64_t times = take(1) % 16, types = 1 + take(1) % 4;
  std::string out;
  const auto header = [&](std::uint64_t time_count, std::uint64_t type_count) {
    out += "TZif2";
    out.append(15, '\0');
    for (const std::uint64_t count :
         {std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{0}, time_count, type_count, std::uint64_t{0}})
      append(out, count, 4);
  };
  header(0, 1);
  out.append(6, '\0');
  header(times, types);
  std::int64_t time = static_cast<std::int64_t>(take(8));
  for (std::uint64_t i = 0; i < times; ++i) {
    append(out, static_cast<std::uint64_t>(time), 8);
    const auto step = static_cast<std::int64_t>(take(4));
    if (time <= std::numeric_limits<std::int64_t>::max() - step) time += step;
  }
  for (std::uint64_t i = 0; i < times; ++i) append(out, take(1) % types, 1);
  for (std::uint64_t i = 0; i < types; ++i) {
    append(out, static_cast<std::uint64_t>(static_cast<std::int64_t>(take(3) % 180'000) - 90'000), 4);
    append(out, 0, 2);
  }
  return out + '\n' + std::string(bytes) + '\n';
}

void look_at(std::string_view file) {
  const auto zone = TimeZone::parse("Fuzz/Zone", file);
  if (!zone) {
    TM_CHECK(!zone.error().message.empty(), "a refusal says what is wrong");
    return;
  }
  const auto again = TimeZone::from_spans("Fuzz/Zone", zone->spans());
  TM_CHECK(again && again->spans() == zone->spans(), "its rules can be stored and read");
  for (const std::int64_t day : {-40'000, -1, 0, 10'957, 20'454, 20'640, 32'872, 60'000}) {
    for (const std::int64_t second : {0, 1, 3'599, 43'200, 86'399}) check(*zone, day * kDay_s + second);
  }
  for (const auto& span : zone->spans()) {
    // Only moments of the years that a calendar can name.
    if (span.from_s < -100'000 * kDay_s || span.from_s > 100'000 * kDay_s) continue;
    for (const std::int64_t around : {-3'601, -1, 0, 1, 3'600}) check(*zone, span.from_s + around);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  look_at(bytes);
  look_at(well_formed(bytes));
  return 0;
}
