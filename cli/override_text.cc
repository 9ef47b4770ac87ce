#include "cli/override_text.h"

#include <string_view>
#include <utility>

#include "base/text.h"
#include "policy/explain/override_text.h"

namespace tidemark::cli {
namespace {

using base::cat;
using operate::OverrideReport;

std::string scope_text(std::string_view pool) {
  return pool.empty() ? "cluster" : cat("pool ", pool);
}

std::string side_text(std::string_view name, const model::LineTerms& before, const model::LineTerms& after) {
  const auto one = [](const model::LineTerms& terms) {
    return terms.hold == terms.sell ? cat(terms.sell, " %") : cat(terms.hold, " % (", terms.sell, " % sold)");
  };
  return before.hold == after.hold && before.sell == after.sell
             ? cat("  ", name, ": stays at ", one(after), "\n")
             : cat("  ", name, ": ", one(before), " -> ", one(after), "\n");
}

}  // namespace

std::string render_text(const OverrideReport& report) {
  std::string out = cat("override ", scope_text(report.pool), report.dry_run ? " (dry run, nothing was written)" : "");
  switch (report.effect) {
    case policy::state::OverrideEffect::kAlready:
      out += cat(": in force already: ", policy::explain::override_text(*report.after));
      break;
    case policy::state::OverrideEffect::kNothing:
      out += ": none exists, nothing to remove";
      break;
    case policy::state::OverrideEffect::kSet:
      out += report.after ? cat(": ", policy::explain::override_text(*report.after)) : ": cleared, the calendar holds";
      if (report.before) out += cat("; before: ", policy::explain::override_text(*report.before));
      break;
  }
  out += "\n";
  if (report.line) {
    out += side_text("cpu", report.line->before.cpu, report.line->after.cpu);
    out += side_text("memory", report.line->before.memory, report.line->after.memory);
  }
  if (report.nodes) out += cat("  nodes of the pool now: ", *report.nodes, "\n");
  for (const auto& note : report.notes) out += cat("note: ", note, "\n");
  return out;
}

}  // namespace tidemark::cli
