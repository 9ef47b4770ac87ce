#include "kube/told_write.h"

#include <utility>

namespace tidemark::kube {
namespace {

// The server has said that it did not do it: a refusal, a redirect, or a 503 that asks to come back later.
bool is_refusal(const Error& error) {
  return (error.code >= 300 && error.code < 500) || (error.code == 503 && error.retry_after_ms > 0);
}

}  // namespace

ToldWrite::ToldWrite(const base::Clock& clock, const std::function<void(model::AuditLine)>& audit,
                     model::AuditLine line)
    : clock_(clock), audit_(audit), line_(std::move(line)), begun_(clock.monotonic()) {}

ToldWrite::~ToldWrite() {
  if (over_) return;
  if (under_way_ && !unsent_) outcome_ = model::AuditOutcome::kUnknown;
  tell("given up before the answer came");
}

bool* ToldWrite::begin() {
  under_way_ = true;
  unsent_ = false;
  return &unsent_;
}

void ToldWrite::end(const Error* error, bool answered) {
  under_way_ = false;
  if (unsent_) return;
  if (error == nullptr) {
    outcome_ = model::AuditOutcome::kDone;
  } else {
    outcome_ = answered && is_refusal(*error) ? model::AuditOutcome::kRefused : model::AuditOutcome::kUnknown;
  }
}

void ToldWrite::over(const Error* error) {
  over_ = true;
  tell(error == nullptr ? "" : error->message);
}

void ToldWrite::tell(std::string detail) {
  if (!outcome_) return;
  line_.outcome = *outcome_;
  line_.detail = std::move(detail);
  line_.took = clock_.monotonic() - begun_;
  line_.time = clock_.wall();
  audit_(std::move(line_));
}

}  // namespace tidemark::kube
