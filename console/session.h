// The session of a person in the cluster form: a sealed cookie, so that every replica with the same secret accepts it
// and nothing is kept on the server. Pure; time is an input.
//
// The cookie has the person's token, which only the console can read. It ends kIdleMax after the last renewal, and
// kWholeMax after the login at the latest. A renewal seals it anew. Of a login by an issuer it also has the refresh
// token, if the issuer gave one and both fit.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "net/http.h"
#include "net/seal.h"

namespace tidemark::console {

struct Session {
  std::string user;
  std::string token;
  std::string refresh_token;  // "": the session ends with its token
  base::WallTime began;       // the login
  base::WallTime renewed;     // the login, or the last renewal
  bool operator==(const Session&) const = default;
};

inline constexpr base::Duration kIdleMax = std::chrono::hours(1);
inline constexpr base::Duration kWholeMax = std::chrono::hours(12);
// "__Host-": the browser accepts it only over TLS, for this host alone and for all paths.
inline constexpr std::string_view kSessionCookie = "__Host-tidemark";
// Of both tokens together: sealed and encoded they fit into a cookie of 4096 bytes.
inline constexpr std::size_t kSessionTokenBytesMax = 2500;

// The value of Set-Cookie, without a refresh token that does not fit. kInvalid: the token is too long for a cookie.
Result<std::string> session_cookie(const net::Sealer& sealer, const Session& session);
std::string ended_session_cookie();

// All cookies of a request. HTTP/2 may send each in a field of its own.
std::string cookies_of(const net::Headers& headers);

// The value of a cookie in the header Cookie; nullopt if it is absent, or there twice: then a page of a neighbour
// domain may have added one.
std::optional<std::string_view> cookie_in(std::string_view cookies, std::string_view name);

// Of the header Cookie. nullopt: there is none, it is not ours, or it is over.
std::optional<Session> read_session(const net::Sealer& sealer, std::string_view cookies, base::WallTime now);

}  // namespace tidemark::console
