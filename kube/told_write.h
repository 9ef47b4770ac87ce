// A write on its way to the audit: what the server may know of it, attempt by attempt, and the line that says so.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "model/audit_line.h"

namespace tidemark::kube {

// Reports the write when it is over, even if its caller was destroyed. A write that was not sent is not reported,
// because it has no effect.
class ToldWrite {
 public:
  ToldWrite(const base::Clock& clock, const std::function<void(model::AuditLine)>& audit, model::AuditLine line);
  ~ToldWrite();
  ToldWrite(const ToldWrite&) = delete;
  ToldWrite& operator=(const ToldWrite&) = delete;

  // An attempt is handed to the transport, which may say that none of it has left (net/http.h).
  bool* begin();
  void end(const Error* error, bool answered);
  // All attempts are over, and this is what the caller hears; null: it went well.
  void over(const Error* error);

 private:
  void tell(std::string detail);

  const base::Clock& clock_;
  const std::function<void(model::AuditLine)>& audit_;
  model::AuditLine line_;
  base::MonotonicTime begun_;
  bool unsent_ = false;
  bool under_way_ = false;
  bool over_ = false;
  std::optional<model::AuditOutcome> outcome_;  // of the last attempt that left
};

}  // namespace tidemark::kube
