#include "policy/motion/least.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/text.h"

namespace tidemark::policy {
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
  std::string out;
  for (std::size_t hour = 0; hour < offers.hours.size(); ++hour) {
    if (hour > 0) out += ",";
    const LeastOffer& known = offers.hours[hour];
    if (known.known()) out += base::cat(known.cpu_milli, ":", known.memory_mib);
  }
  return out;
}

Result<LeastOffers> decode_least(std::string_view bytes) {
  if (bytes.size() > kLeastBytesMax) {
    return fail(ErrorKind::kInvalid, bytes.size(), " bytes, at most ", kLeastBytesMax);
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
      return fail(ErrorKind::kInvalid, "hour ", hour, ": wanted MILLICORES:MIB, found ", base::quoted(hours[hour]));
    }
    out.hours[hour] = {*cpu, *memory};
  }
  return out;
}

}  // namespace tidemark::policy
