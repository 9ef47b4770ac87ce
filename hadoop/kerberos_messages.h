// What is said between us and `tidemark-kerberos`, the process that has the tickets: frames over a socket pair, each a
// message of numbered fields. Requests of one context are answered in their order; notes come in between.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hadoop/rpc_frames.h"

namespace tidemark::hadoop {

inline constexpr std::uint32_t kHelperVersion = 1;  // of these messages: both come from one build, and say so

struct HelperRequest {
  enum class Op : std::uint8_t { kStep = 1, kWrap, kUnwrap, kWrapMax, kForget, kOwnPrincipal, kCanonicalName, kPing };
  std::uint64_t number = 0;
  Op op = Op::kStep;
  std::uint64_t context = 0;  // ours to number; the first kStep makes it
  std::string server{};       // of the first kStep: the principal; of kCanonicalName: the address
  std::string bytes{};
  bool confidential = false;
  std::uint32_t token_max = 0;  // of kWrapMax
  bool operator==(const HelperRequest&) const = default;
};

struct HelperAnswer {
  // Belongs to no request: state of our tickets. The first one shows that the process runs.
  enum class Note : std::uint8_t { kNone = 0, kHello, kLoggedIn, kLoginFailed };
  std::uint64_t number = 0;  // of its request
  Note note = Note::kNone;
  std::uint32_t version = 0;  // of kHello
  std::string principal{};    // of kLoggedIn
  std::int64_t until_s = 0;   // of kLoggedIn: when the ticket ends, in seconds since 1970
  Result<void> done{};        // of a request, and why a login failed
  std::string bytes{};        // a token, what was opened, or a name
  bool flag = false;          // of a step: complete; of opened bytes: they were hidden
  std::uint32_t size = 0;     // of kWrapMax
};

std::string encode(const HelperRequest& request);
std::string encode(const HelperAnswer& answer);
Result<HelperRequest> decode_request(std::string_view bytes);
Result<HelperAnswer> decode_answer(std::string_view bytes);

}  // namespace tidemark::hadoop
