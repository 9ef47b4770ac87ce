#include "policy/explain/profile_text.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"

namespace tidemark::policy::explain {
namespace {

constexpr int kWorkloadSchema = 1;
constexpr std::size_t kColumns = 8;
using Row = std::array<std::string, kColumns>;

std::string mib(model::MemoryBytes memory) {
  return base::cat(memory.value / waterline::kMemoryUnit_bytes, "Mi");
}

std::string milli(model::CpuMilli cpu) {
  return base::cat(cpu.value, "m");
}

std::string hour_text(std::int64_t hour) {
  return base::cat(hour < 10 ? "0" : "", hour, ":00");
}

Row row_of(std::string name, const waterline::UsageAt& usage) {
  return {std::move(name),       milli(usage.p50.cpu),  milli(usage.p95.cpu),  milli(usage.max.cpu),
          mib(usage.p50.memory), mib(usage.p95.memory), mib(usage.max.memory), base::cat(usage.days)};
}

Json usage_json(const waterline::UsageAt& usage) {
  const auto amounts = [](const model::Resources& amount) {
    return Json::object({{"cpuMilli", amount.cpu.value}, {"memoryBytes", amount.memory.value}});
  };
  return Json::object(
      {{"p50", amounts(usage.p50)}, {"p95", amounts(usage.p95)}, {"max", amounts(usage.max)}, {"days", usage.days}});
}

}  // namespace

std::string render_text(std::string_view workload, const waterline::UsageProfile& profile, base::WallTime now) {
  std::string out = base::cat("workload ", workload, ": use of one of its pods by hour of the day (UTC)\n\n");
  std::vector<Row> rows{{"hour", "cpu p50", "p95", "max", "memory p50", "p95", "max", "days"}};
  for (std::int64_t hour = 0; hour < waterline::kHoursADay; ++hour) {
    if (const auto usage = waterline::usage_at(profile, hour, now)) rows.push_back(row_of(hour_text(hour), *usage));
  }
  if (const auto all = waterline::usage_of_all_hours(profile, now)) rows.push_back(row_of("all", *all));
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      out.append(widths[i] - row[i].size() + 2, ' ');
      out += row[i];
    }
    out += '\n';
  }
  out += base::cat("\nbased on ", waterline::hours_seen(profile, now), " of the last ",
                   waterline::kProfileDays * waterline::kHoursADay, " hours\n");
  return out;
}

Json render_json(std::string_view workload, const waterline::UsageProfile& profile, base::WallTime now) {
  Json out = Json::object({{"schema", kWorkloadSchema}, {"workload", Json(workload)}});
  Json hours = Json::array();
  for (std::int64_t hour = 0; hour < waterline::kHoursADay; ++hour) {
    const auto usage = waterline::usage_at(profile, hour, now);
    if (!usage) continue;
    Json each = usage_json(*usage);
    each["hour"] = Json(hour);
    hours.as_array().push_back(std::move(each));
  }
  out["hours"] = std::move(hours);
  const auto all = waterline::usage_of_all_hours(profile, now);
  out["all"] = all ? usage_json(*all) : Json(nullptr);
  out["hoursSeen"] = Json(waterline::hours_seen(profile, now));
  out["hoursMax"] = Json(waterline::kProfileDays * waterline::kHoursADay);
  return out;
}

}  // namespace tidemark::policy::explain
