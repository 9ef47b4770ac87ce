#include "agent/record/last_action.h"

#include <chrono>
#include <utility>

#include "base/text.h"

namespace tidemark::agent {

void LastAction::take(const model::AuditLine& line, base::MonotonicTime now) {
  if (line.outcome == model::AuditOutcome::kRefused) return;
  std::string what = base::cat(line.verb, " ", line.ns, line.ns.empty() ? "" : "/", line.name);
  for (const std::string* each : {&line.part, &line.new_value}) {
    if (!each->empty()) what += base::cat(" ", *each);
  }
  if (!line.reason.empty()) what += base::cat(" [", line.reason, "]");
  last_ = {now, std::move(what)};
}

std::string LastAction::text(base::MonotonicTime now) const {
  if (!last_) return "none since its start";
  return base::cat(last_->what, ", ", std::chrono::duration_cast<std::chrono::seconds>(now - last_->at).count(),
                   " s before");
}

}  // namespace tidemark::agent
