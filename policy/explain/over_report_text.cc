#include "policy/explain/over_report_text.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace tidemark::policy::explain {
namespace {

using base::cat;

std::array<std::pair<std::string_view, const model::SideConfig*>, 2> sides(const model::LedgerConfig& ledger) {
  return {{{"kubernetes", &ledger.kubernetes}, {"yarn", &ledger.yarn}}};
}

bool tells(const model::SideConfig& side) {
  return side.over_report != model::OverReport() || !side.entries.empty();
}

std::string entry_text(const model::OverReportEntry& entry) {
  std::string out = cat("entry ", entry.number, ": ",
                        entry.work_class.empty() ? std::string("every class") : cat("class ", entry.work_class));
  if (entry.hours) out += cat(", ", entry.hours->from, ":00 to ", entry.hours->to, ":00");
  if (entry.cpu_percent) out += cat(", cpu ", *entry.cpu_percent, " %");
  if (entry.memory_percent) out += cat(", memory ", *entry.memory_percent, " %");
  return out;
}

Json entry_json(const model::OverReportEntry& entry) {
  Json out = Json::object({});
  if (!entry.work_class.empty()) out["class"] = Json(entry.work_class);
  if (entry.hours) out["hours"] = Json(cat(entry.hours->from, "-", entry.hours->to));
  if (entry.cpu_percent) out["cpuPercent"] = Json(*entry.cpu_percent);
  if (entry.memory_percent) out["memoryPercent"] = Json(*entry.memory_percent);
  return out;
}

}  // namespace

std::string over_report_text(const model::LedgerConfig& ledger) {
  std::string out;
  for (const auto& [name, side] : sides(ledger)) {
    if (!tells(*side)) continue;
    out += cat("over-report ", name, ": cpu ", side->over_report.cpu_percent, " %, memory ",
               side->over_report.memory_percent, " %");
    for (const auto& entry : side->entries) out += cat("; ", entry_text(entry));
    out += "\n";
  }
  return out;
}

Json over_report_json(const model::LedgerConfig& ledger) {
  Json out = Json::object({});
  for (const auto& [name, side] : sides(ledger)) {
    if (!tells(*side)) continue;
    Json told = Json::object(
        {{"cpuPercent", side->over_report.cpu_percent}, {"memoryPercent", side->over_report.memory_percent}});
    told["entries"] = Json::array();
    for (const auto& entry : side->entries) told["entries"].as_array().push_back(entry_json(entry));
    out[name] = std::move(told);
  }
  return out;
}

}  // namespace tidemark::policy::explain
