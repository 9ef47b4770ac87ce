// AdmissionReview (admission.k8s.io/v1): the question that the API server sends, and the answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tidemark::manager {

inline constexpr std::size_t kReviewBytesMax = 8 * 1024 * 1024;  // an update carries two objects of 3 MiB at most
inline constexpr std::size_t kReviewValuesMax = 100'000;         // an object of the API server's limits has fewer
inline constexpr std::size_t kWarningsMax = 10;                  // the API server cuts beyond 4 KiB of them
inline constexpr std::size_t kWarningBytesMax = 256;
inline constexpr std::size_t kMessageBytesMax = 16 * 1024;
inline constexpr std::size_t kCausesMax = 50;

enum class AdmissionOperation : std::uint8_t { kCreate, kUpdate, kDelete, kConnect };

struct AdmissionRequest {
  std::string uid;
  std::string group;
  std::string resource;  // the plural word
  std::string subresource;
  std::string ns;
  std::string name;  // may be empty on CREATE
  AdmissionOperation operation = AdmissionOperation::kCreate;
  std::string user;       // the author of the request
  std::string user_node;  // the node that the user's token is bound to; "" if it is bound to none
  bool dry_run = false;   // nothing will come of it
  Json object;            // null on DELETE
  Json old_object;        // null on CREATE
};

// Never less than the number of values that reading `body` would make; found without reading it. A value takes far more
// memory than its text: what 8 MiB can hold is more than a process has for it.
std::size_t review_values(std::string_view body);

// The error says what of it is no AdmissionReview; nothing of an object's contents is in it. One of too many values has
// the code 413.
Result<AdmissionRequest> decode_review(std::string_view body);

struct AdmissionCause {
  std::string reason;
  std::string field;
  std::string message;
};

struct AdmissionAnswer {
  bool allowed = true;
  Json patch;           // a JSON patch; null or empty: the object stays
  int code = 0;         // of a refusal
  std::string reason;   // the word kubectl shows in brackets
  std::string message;  // of a refusal
  std::vector<AdmissionCause> causes;
  std::vector<std::string> warnings;
};

std::string encode_review(std::string_view uid, const AdmissionAnswer& answer);

}  // namespace tidemark::manager
