#include "cli/preview_text.h"

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "policy/explain/over_report_text.h"
#include "policy/explain/preview_text.h"

namespace tidemark::cli {
namespace {

using base::cat;
using operate::PoolLine;
using operate::PoolPreview;

std::string head(const PoolLine& pool) {
  const auto& calendar = pool.calendar();
  std::string out = cat("pool ", pool.pool, ": ", pool.nodes, pool.nodes == 1 ? " node" : " nodes");
  out += pool.settings().calendar ? cat(", calendar ", calendar.name, " (", calendar.zone.name(), ")")
                                  : std::string(", no calendar");
  out += cat(", base line cpu ", pool.base_cpu, " %, memory ", pool.base_memory, " %");
  if (calendar.lead > base::Duration(0)) out += cat(", lead ", base::format_go_duration(calendar.lead));
  return out + "\n";
}

std::vector<std::string> notes_of(const PoolPreview& preview) {
  std::vector<std::string> notes;
  const auto& calendar = preview.pool.calendar();
  if (preview.holidays_end) notes.push_back(policy::explain::holidays_text(calendar, *preview.holidays_end));
  if (preview.pool.other_base > 0) {
    notes.push_back(cat(preview.pool.other_base, " of its nodes have another base line by settings of their own"));
  }
  return notes;
}

policy::explain::PreviewView view_of(const PoolPreview& preview) {
  return {preview.pool.calendar(), preview.overrides, preview.points};
}

}  // namespace

std::string render_text(const PoolPreview& preview) {
  std::string out = cat(head(preview.pool), policy::explain::over_report_text(preview.pool.settings().ledger),
                        policy::explain::render_text(view_of(preview)));
  for (const auto& note : notes_of(preview)) out += cat("note: ", note, "\n");
  return out;
}

Json render_json(const PoolPreview& preview) {
  const PoolLine& pool = preview.pool;
  Json out =
      Json::object({{"schema", 1},
                    {"pool", Json(pool.pool)},
                    {"nodes", Json(static_cast<std::int64_t>(pool.nodes))},
                    {"base", Json::object({{"cpuPercent", pool.base_cpu}, {"memoryPercent", pool.base_memory}})},
                    {"leadSeconds", std::chrono::duration_cast<std::chrono::seconds>(pool.calendar().lead).count()}});
  out["overReport"] = policy::explain::over_report_json(pool.settings().ledger);
  const Json line = policy::explain::render_json(view_of(preview));
  for (const auto& [key, value] : line.as_object()) out[key] = value;
  out["notes"] = Json::array();
  for (const auto& note : notes_of(preview)) out["notes"].as_array().push_back(Json(note));
  return out;
}

}  // namespace tidemark::cli
