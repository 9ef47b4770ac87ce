#include "policy/sell/least.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/text.h"

namespace tidemark::policy::sell {
namespace {

constexpr std::int64_t kDay_h = 24;
constexpr int kMibShift = 20;

std::int64_t hour_of(base::WallTime at) {
  return std::chrono::floor<std::chrono::hours>(at.since_epoch).count();
}

std::size_t of_day(std::int64_t hour) {
  return static_cast<std::size_t>((hour % kDay_h + kDay_h) % kDay_h);
}

std::int32_t small(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<std::int32_t>::max()));
}

std::int32_t towards(std::int32_t known, std::int32_t seen) {
  if (seen <= known) return seen;
  return static_cast<std::int32_t>(known + (static_cast<std::int64_t>(seen) - known) / kLeastShare);
}

std::optional<std::int32_t> number(std::string_view text) {
  const auto value = base::parse_int(text);
  if (!value || *value < 0 || *value > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

void add_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(static_cast<unsigned char>(value | 0x80));
  out += static_cast<char>(value);
}

// Takes it from the front of `rest`; nullopt if there is none of at most five bytes.
std::optional<std::uint64_t> take_varint(std::string_view& rest) {
  constexpr int kBitsMax = 35;
  std::uint64_t value = 0;
  for (int shift = 0; shift < kBitsMax && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

void add_step(std::string& out, std::int32_t from, std::int32_t to) {
  const std::int64_t step = static_cast<std::int64_t>(to) - from;
  add_varint(out, (static_cast<std::uint64_t>(step) << 1) ^ static_cast<std::uint64_t>(step >> 63));
}

std::optional<std::int32_t> take_step(std::string_view& rest, std::int32_t from) {
  const auto packed = take_varint(rest);
  if (!packed) return std::nullopt;
  const auto step = static_cast<std::int64_t>(*packed >> 1) ^ -static_cast<std::int64_t>(*packed & 1);
  const std::int64_t to = from + step;
  if (to < 0 || to > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::int32_t>(to);
}

}  // namespace

bool LeastOffers::any() const {
  return std::ranges::any_of(hours, &LeastOffer::known);
}

LeastStep learn_least(const LeastOffers& before, std::optional<model::Resources> could, base::WallTime now) {
  LeastStep step{before, false};
  LeastOffers& next = step.offers;
  const std::int64_t hour = hour_of(now);
  if (next.hour != hour) {
    if (next.samples >= kLeastSamplesMin) {
      LeastOffer& known = next.hours[of_day(next.hour)];
      known = known.known() ? LeastOffer{towards(known.cpu_milli, next.least.cpu_milli),
                                         towards(known.memory_mib, next.least.memory_mib)}
                            : next.least;
      step.learned = true;
    }
    next.hour = hour;
    next.least = LeastOffer();
    next.samples = 0;
  }
  if (could) {
    const LeastOffer seen{small(could->cpu.value), small(could->memory.value >> kMibShift)};
    next.least = next.least.known() ? LeastOffer{std::min(next.least.cpu_milli, seen.cpu_milli),
                                                 std::min(next.least.memory_mib, seen.memory_mib)}
                                    : seen;
    ++next.samples;
  }
  return step;
}

std::optional<model::Resources> least_at(const LeastOffers& offers, base::WallTime now) {
  const LeastOffer& known = offers.hours[of_day(hour_of(now))];
  if (!known.known()) return std::nullopt;
  return model::Resources{model::CpuMilli{known.cpu_milli},
                          model::MemoryBytes{static_cast<std::int64_t>(known.memory_mib) << kMibShift}};
}

LeastOffers with_kept(LeastOffers offers, const LeastOffers& kept) {
  for (std::size_t hour = 0; hour < offers.hours.size(); ++hour) {
    if (!offers.hours[hour].known()) offers.hours[hour] = kept.hours[hour];
  }
  return offers;
}

std::string encode_least(const LeastOffers& offers) {
  std::uint64_t known = 0;
  for (std::size_t hour = 0; hour < offers.hours.size(); ++hour) {
    if (offers.hours[hour].known()) known |= std::uint64_t{1} << hour;
  }
  std::string out;
  add_varint(out, known);
  LeastOffer before{0, 0};
  for (const LeastOffer& each : offers.hours) {
    if (!each.known()) continue;
    const LeastOffer now{each.cpu_milli, std::max(each.memory_mib, 0)};
    add_step(out, before.cpu_milli, now.cpu_milli);
    add_step(out, before.memory_mib, now.memory_mib);
    before = now;
  }
  return out;
}

Result<LeastOffers> decode_least(std::string_view bytes) {
  if (bytes.size() > kLeastBytesMax) {
    return fail(ErrorKind::kInvalid, bytes.size(), " bytes, at most ", kLeastBytesMax);
  }
  LeastOffers out;
  std::string_view rest = bytes;
  const auto known = take_varint(rest);
  if (!known || *known >> out.hours.size() != 0) {
    return fail(ErrorKind::kInvalid, "does not say which of ", out.hours.size(), " hours are known");
  }
  LeastOffer before{0, 0};
  for (std::size_t hour = 0; hour < out.hours.size(); ++hour) {
    if ((*known >> hour & 1) == 0) continue;
    const auto cpu = take_step(rest, before.cpu_milli);
    const auto memory = take_step(rest, before.memory_mib);
    if (!cpu || !memory) return fail(ErrorKind::kInvalid, "hour ", hour, " is cut, or no amount of milli-cores or MiB");
    before = {*cpu, *memory};
    out.hours[hour] = before;
  }
  if (!rest.empty()) return fail(ErrorKind::kInvalid, rest.size(), " bytes after the last hour");
  return out;
}

Result<LeastOffers> decode_least_text(std::string_view bytes) {
  if (bytes.size() > kLeastTextBytesMax) {
    return fail(ErrorKind::kInvalid, bytes.size(), " bytes, at most ", kLeastTextBytesMax);
  }
  LeastOffers out;
  const auto hours = base::split(bytes, ',');
  if (hours.size() != out.hours.size()) {
    return fail(ErrorKind::kInvalid, hours.size(), " hours of a day, wanted ", out.hours.size());
  }
  for (std::size_t hour = 0; hour < hours.size(); ++hour) {
    if (hours[hour].empty()) continue;
    const auto parts = base::split(hours[hour], ':');
    const auto cpu = parts.size() == 2 ? number(parts[0]) : std::nullopt;
    const auto memory = parts.size() == 2 ? number(parts[1]) : std::nullopt;
    if (!cpu || !memory) {
      return fail(ErrorKind::kInvalid, "hour ", hour, ": wanted MILLICORES:MIB, found ", base::in_quotes(hours[hour]));
    }
    out.hours[hour] = {*cpu, *memory};
  }
  return out;
}

}  // namespace tidemark::policy::sell
