#include "cli/uninstall_text.h"

#include <cstdint>
#include <utility>

#include "base/text.h"

namespace tidemark::cli {

using base::cat;

std::string render_text(const operate::UninstallReport& report) {
  std::string out;
  for (const auto& kind : report.kinds) {
    out += report.dry_run ? cat("would clean ", kind.found, " ", kind.kind, "\n")
                          : cat("cleaned ", kind.done, " of ", kind.found, " ", kind.kind, "\n");
    for (const auto& problem : kind.problems) out += cat("  ", problem, "\n");
  }
  if (report.kinds.empty()) out += "nothing of Tidemark is in the cluster\n";
  for (const auto& left : report.left) out += cat("stays: ", left, "\n");
  return out;
}

Json render_json(const operate::UninstallReport& report) {
  Json out = Json::object({{"schema", 1},
                           {"dryRun", Json(report.dry_run)},
                           {"complete", Json(report.complete())},
                           {"kinds", Json::array()},
                           {"stays", Json::array()}});
  for (const auto& kind : report.kinds) {
    Json entry = Json::object({{"kind", Json(kind.kind)},
                               {"found", Json(static_cast<std::int64_t>(kind.found))},
                               {"cleaned", Json(static_cast<std::int64_t>(kind.done))},
                               {"problems", Json::array()}});
    for (const auto& problem : kind.problems) entry["problems"].as_array().push_back(Json(problem));
    out["kinds"].as_array().push_back(std::move(entry));
  }
  for (const auto& left : report.left) out["stays"].as_array().push_back(Json(left));
  return out;
}

}  // namespace tidemark::cli
