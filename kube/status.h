// What the API server says when it refuses: a metav1.Status body and the HTTP status, as one Error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::kube {

struct Status {
  int code = 0;
  std::string reason;  // "NotFound", "Expired", …
  std::string message;
  std::int64_t retry_after_s = 0;
  std::vector<std::string> causes;  // reasons of details.causes: "DisruptionBudget", …
  std::string cause_message;        // of the first cause that has one

  bool has_cause(std::string_view reason) const;
};

// Nothing where the bytes are no Status object (a proxy's HTML page, for example).
std::optional<Status> parse_status(std::string_view bytes);

ErrorKind kind_of(int http_status, std::string_view reason);

// What became of a request, in the word that metrics of clients and of our server share: "ok", "not_found", "conflict",
// "gone", "throttled", "server_error", "refused" (every other one that is no success).
std::string_view outcome_of_status(int http_status);

// `retry_after` is the header's text: seconds, or an HTTP date relative to `now`. `doing` names the call.
Error status_error(int http_status, std::string_view retry_after, std::string_view body, base::WallTime now,
                   std::string_view doing);

// Retry-After in milliseconds; 0 where it says nothing that can be read. Bounded to kRetryAfterMax.
inline constexpr std::chrono::seconds kRetryAfterMax = std::chrono::minutes(10);
std::int64_t parse_retry_after_ms(std::string_view text, base::WallTime now);

}  // namespace tidemark::kube
