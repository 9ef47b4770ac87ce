// How an expected failure travels: by value, with its kind and a message that says what was wanted, what was found and
// what to do. A bug is not an error but a failed TM_CHECK (base/check.h); absence is std::optional.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace tidemark::base {

enum class ErrorKind : std::uint8_t {
  kInvalid,        // the input is wrong; trying again will not help
  kNotFound,       // the thing named does not exist
  kAlreadyExists,  // a create met an existing thing
  kConflict,       // another writer changed it first; read again
  kGone,           // it was there, its history is not kept any more; start over (HTTP 410)
  kDenied,         // authentication or authorization
  kExhausted,      // a limit of ours or of the server (HTTP 429)
  kUnavailable,    // the other side is not there, or the connection broke; try again later
  kDeadline,       // the time given ran out
  kUnsupported,    // known, and not done here
  kIo,             // the operating system refused; `code` is errno
  kInternal,       // the other side failed (HTTP 5xx), or a library did
};

std::string_view to_string(ErrorKind);

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message;
  int code = 0;                     // HTTP status or errno where there is one
  std::int64_t retry_after_ms = 0;  // the server's Retry-After, 0 where it named none

  // Adds the place: "reading /etc/x: " + what was said below.
  Error within(std::string_view place) && {
    message = cat(place, ": ", message);
    return std::move(*this);
  }
  Error within(std::string_view place) const& { return Error(*this).within(place); }
};

template <class T>
using Result = std::expected<T, Error>;

// `return fail(ErrorKind::kInvalid, "port ", port, " is not in 1..65535");`
template <class... Parts>
std::unexpected<Error> fail(ErrorKind kind, const Parts&... parts) {
  return std::unexpected(Error{kind, cat(parts...), 0, 0});
}

inline std::unexpected<Error> fail(Error error) {
  return std::unexpected(std::move(error));
}

// An errno with what was being done: "open /x: No such file or directory".
std::unexpected<Error> fail_errno(int errno_value, std::string_view doing);

}  // namespace tidemark::base

namespace tidemark {
using base::Error;
using base::ErrorKind;
using base::fail;
using base::Result;
}  // namespace tidemark

#define TM_JOIN2(a, b) a##b
#define TM_JOIN(a, b) TM_JOIN2(a, b)

// TM_TRY(auto value, parse(text));   returns the error of parse() from this function, or binds its value.
#define TM_TRY(declaration, expression)                                                                         \
  auto TM_JOIN(tm_result_, __LINE__) = (expression);                                                            \
  if (!TM_JOIN(tm_result_, __LINE__)) return std::unexpected(std::move(TM_JOIN(tm_result_, __LINE__)).error()); \
  declaration = std::move(*TM_JOIN(tm_result_, __LINE__))  // NOLINT(bugprone-macro-parentheses): a declaration

// The same for Result<void>.
#define TM_TRY_VOID(expression) \
  if (auto tm_result = (expression); !tm_result) return std::unexpected(std::move(tm_result).error())

// The same inside a coroutine: TM_CO_TRY(auto page, co_await client.list(…));
#define TM_CO_TRY(declaration, expression)                                                                         \
  auto TM_JOIN(tm_result_, __LINE__) = (expression);                                                               \
  if (!TM_JOIN(tm_result_, __LINE__)) co_return std::unexpected(std::move(TM_JOIN(tm_result_, __LINE__)).error()); \
  declaration = std::move(*TM_JOIN(tm_result_, __LINE__))  // NOLINT(bugprone-macro-parentheses): a declaration

#define TM_CO_TRY_VOID(expression) \
  if (auto tm_result = (expression); !tm_result) co_return std::unexpected(std::move(tm_result).error())
