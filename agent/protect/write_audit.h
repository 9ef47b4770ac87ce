// The audit of what one agent wrote on its machine: fills the parts of a line that do not depend on the write.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "model/audit_line.h"
#include "model/reason.h"

namespace tidemark::agent {

class WriteAudit {
 public:
  // `tell` may be empty. The clock outlives it.
  WriteAudit(const base::Clock& clock, std::string actor, std::function<void(model::AuditLine)> tell)
      : clock_(clock), actor_(std::move(actor)), tell_(std::move(tell)) {}

  void add(model::AuditLine line, model::Reason reason, const std::optional<Error>& error = std::nullopt) const {
    if (!tell_) return;
    line.time = clock_.wall();
    line.actor = actor_;
    line.verb = "write";
    line.reason = model::reason_id(reason);
    if (error) {
      line.outcome = model::AuditOutcome::kRefused;
      line.detail = error->message;
    }
    tell_(std::move(line));
  }

 private:
  const base::Clock& clock_;
  std::string actor_;
  std::function<void(model::AuditLine)> tell_;
};

}  // namespace tidemark::agent
