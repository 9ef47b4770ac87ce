#include "policy/explain/override_text.h"

#include "base/clock.h"
#include "base/text.h"

namespace tidemark::policy::explain {

std::string line_text(const waterline::LinePercent& line) {
  std::string out;
  if (line.cpu) out += base::cat("cpu ", *line.cpu, " %");
  if (line.memory) out += base::cat(out.empty() ? "" : ", ", "memory ", *line.memory, " %");
  return out;
}

std::string override_text(const waterline::LineOverride& line) {
  return base::cat(line_text(line.line), ", until ", base::format_rfc3339(line.until), ", by ", line.who, ": ",
                   line.why);
}

Json override_json(const waterline::LineOverride& line) {
  Json out = Json::object();
  if (line.line.cpu) out["cpuPercent"] = Json(*line.line.cpu);
  if (line.line.memory) out["memoryPercent"] = Json(*line.line.memory);
  out["by"] = Json(line.who);
  out["why"] = Json(line.why);
  out["since"] = Json(base::format_rfc3339(line.since));
  out["until"] = Json(base::format_rfc3339(line.until));
  return out;
}

}  // namespace tidemark::policy::explain
