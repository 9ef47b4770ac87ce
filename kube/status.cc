#include "kube/status.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::kube {
namespace {

constexpr std::size_t kForeignTextMax = 200;  // bytes of a body that is no Status, in a message
constexpr std::size_t kCausesMax = 16;
constexpr std::size_t kServerTextMax = 1024;  // bytes of the server's message: a refused patch comes back whole in it

// The one form of HTTP's dates that is still sent: "Wed, 21 Oct 2015 07:28:00 GMT".
// In seconds, because nanoseconds of the year 9999 do not fit.
std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  constexpr std::size_t kLength = 29;
  if (text.size() != kLength || text.substr(3, 2) != ", " || text.substr(25) != " GMT") return std::nullopt;
  const auto month = std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
  const auto day = base::parse_uint(text.substr(5, 2));
  const auto year = base::parse_uint(text.substr(12, 4));
  const auto hour = base::parse_uint(text.substr(17, 2));
  const auto minute = base::parse_uint(text.substr(20, 2));
  const auto second = base::parse_uint(text.substr(23, 2));
  if (month == kMonths.end() || !day || !year || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(month - kMonths.begin()) + 1),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second);
}

// Cut between two characters.
std::string shortened(std::string_view text) {
  if (text.size() <= kServerTextMax) return std::string(text);
  std::size_t end = kServerTextMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return base::cat(text.substr(0, end), "…");
}

std::int64_t bounded_ms(base::Duration wait) {
  const auto bounded = std::clamp(wait, base::Duration(0), base::Duration(kRetryAfterMax));
  return std::chrono::duration_cast<std::chrono::milliseconds>(bounded).count();
}

void read_cause(base::JsonReader& reader, Status& into) {
  std::string reason, message;
  reader.object([&](std::string_view key) {
    if (key == "reason") {
      reader.string(reason);
    } else if (key == "message") {
      reader.string(message);
    } else {
      reader.skip();
    }
  });
  if (!reason.empty() && into.causes.size() < kCausesMax) into.causes.push_back(std::move(reason));
  if (into.cause_message.empty()) into.cause_message = shortened(message);
}

}  // namespace

bool Status::has_cause(std::string_view wanted) const {
  return std::ranges::find(causes, wanted) != causes.end();
}

std::optional<Status> parse_status(std::string_view bytes) {
  base::JsonReader reader(bytes);
  Status status;
  std::string kind;
  std::int64_t code = 0;
  reader.object([&](std::string_view key) {
    if (key == "kind") {
      reader.string(kind);
    } else if (key == "code") {
      reader.integer(code);
    } else if (key == "reason") {
      reader.string(status.reason);
    } else if (key == "message") {
      reader.string(status.message);
    } else if (key == "details") {
      reader.object([&](std::string_view member) {
        if (member == "retryAfterSeconds") {
          reader.integer(status.retry_after_s);
        } else if (member == "causes") {
          reader.array([&] { read_cause(reader, status); });
        } else {
          reader.skip();
        }
      });
    } else {
      reader.skip();
    }
  });
  if (!reader.finish() || kind != "Status") return std::nullopt;
  status.code = static_cast<int>(std::clamp<std::int64_t>(code, 0, 999));
  return status;
}

ErrorKind kind_of(int http_status, std::string_view reason) {
  switch (http_status) {
    case 400:
    case 413:
    case 422:
      return ErrorKind::kInvalid;
    case 401:
    case 403:
      return ErrorKind::kDenied;
    case 404:
      return ErrorKind::kNotFound;
    case 405:
    case 406:
    case 415:
    case 501:
      return ErrorKind::kUnsupported;
    case 409:
      return reason == "AlreadyExists" ? ErrorKind::kAlreadyExists : ErrorKind::kConflict;
    case 410:
      return ErrorKind::kGone;
    case 429:
      return ErrorKind::kExhausted;
    case 502:
    case 503:
    case 504:
      return ErrorKind::kUnavailable;
    case 500:
      // "Understood, and cannot be done in reasonable time": it will pass.
      return reason == "ServerTimeout" || reason == "Timeout" ? ErrorKind::kUnavailable : ErrorKind::kInternal;
    default:
      if (http_status >= 500) return ErrorKind::kInternal;
      // Redirects are not followed: a token must not travel to where a redirect points.
      return http_status >= 400 ? ErrorKind::kInvalid : ErrorKind::kUnsupported;
  }
}

std::int64_t parse_retry_after_ms(std::string_view text, base::WallTime now) {
  text = base::trim(text);
  if (const auto seconds = base::parse_uint(text)) {
    constexpr std::uint64_t kSecondsMax = kRetryAfterMax.count();
    return bounded_ms(std::chrono::seconds(std::min(*seconds, kSecondsMax)));
  }
  const auto date = parse_http_date(text);
  if (!date) return 0;
  const std::chrono::sys_seconds from(std::chrono::duration_cast<std::chrono::seconds>(now.since_epoch));
  return bounded_ms(std::clamp(*date - from, std::chrono::seconds(0), kRetryAfterMax));
}

std::string_view outcome_of_status(int http_status) {
  switch (http_status) {
    case 404:
      return "not_found";
    case 409:
      return "conflict";
    case 410:
      return "gone";
    case 429:
      return "throttled";
    default:
      return http_status < 400 ? "ok" : http_status >= 500 ? "server_error" : "refused";
  }
}

Error status_error(int http_status, std::string_view retry_after, std::string_view body, base::WallTime now,
                   std::string_view doing) {
  const auto status = parse_status(body);
  // An ERROR event of a watch comes under HTTP 200; its own code counts there.
  const int code = http_status >= 300 || !status ? http_status : status->code;
  Error error;
  error.kind = kind_of(code, status ? std::string_view(status->reason) : std::string_view());
  error.code = code;
  std::string said;
  if (status) {
    said = shortened(status->message.empty() ? status->reason : status->message);
  } else {
    said = base::trim(body).empty() ? "no explanation" : base::in_quotes(base::trim(body), kForeignTextMax);
  }
  error.message = base::cat(doing, ": ", said, " (HTTP ", code,
                            status && !status->reason.empty() ? ", " + status->reason : std::string(), ")");
  error.retry_after_ms = parse_retry_after_ms(retry_after, now);
  if (error.retry_after_ms == 0 && status && status->retry_after_s > 0) {
    error.retry_after_ms =
        bounded_ms(std::chrono::seconds(std::min<std::int64_t>(status->retry_after_s, kRetryAfterMax.count())));
  }
  return error;
}

}  // namespace tidemark::kube
