#include "base/result.h"

#include <system_error>

namespace tidemark::base {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return "invalid";
    case ErrorKind::kNotFound:
      return "not found";
    case ErrorKind::kAlreadyExists:
      return "already exists";
    case ErrorKind::kConflict:
      return "conflict";
    case ErrorKind::kGone:
      return "gone";
    case ErrorKind::kDenied:
      return "denied";
    case ErrorKind::kExhausted:
      return "exhausted";
    case ErrorKind::kUnavailable:
      return "unavailable";
    case ErrorKind::kDeadline:
      return "deadline";
    case ErrorKind::kUnsupported:
      return "unsupported";
    case ErrorKind::kIo:
      return "io";
    case ErrorKind::kInternal:
      return "internal";
  }
  return "unknown";
}

std::unexpected<Error> fail_errno(int errno_value, std::string_view doing) {
  // Not strerror: its buffer is shared by all threads.
  return std::unexpected(
      Error{ErrorKind::kIo, cat(doing, ": ", std::generic_category().message(errno_value)), errno_value, 0});
}

}  // namespace tidemark::base
