#include "console/session.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::console {
namespace {

constexpr std::string_view kPurpose = "console session";
constexpr std::string_view kAttributes = "; Path=/; Secure; HttpOnly; SameSite=Strict";

}  // namespace

std::string cookies_of(const net::Headers& headers) {
  std::string out;
  for (const auto& [name, value] : headers) {
    if (name == "cookie") out += base::cat(out.empty() ? "" : "; ", value);
  }
  return out;
}

std::optional<std::string_view> cookie_in(std::string_view cookies, std::string_view name) {
  std::optional<std::string_view> found;
  for (const std::string_view part : base::split(cookies, ';')) {
    const std::string_view pair = base::trim(part);
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
    if (found) return std::nullopt;
    found = pair.substr(equals + 1);
  }
  return found;
}

Result<std::string> session_cookie(const net::Sealer& sealer, const Session& session) {
  if (session.token.size() > kSessionTokenBytesMax) {
    return fail(ErrorKind::kInvalid, "the token has ", session.token.size(), " bytes; at most ", kSessionTokenBytesMax,
                " fit into a cookie");
  }
  const bool fits = session.token.size() + session.refresh_token.size() <= kSessionTokenBytesMax;
  const Json text = Json::object({{"user", Json(session.user)},
                                  {"token", Json(session.token)},
                                  {"refresh", Json(fits ? session.refresh_token : std::string())},
                                  {"began", Json(base::format_rfc3339(session.began))},
                                  {"renewed", Json(base::format_rfc3339(session.renewed))}});
  TM_TRY(const std::string sealed, sealer.seal(text.dump(), kPurpose));
  return base::cat(kSessionCookie, "=", sealed, kAttributes);
}

std::string ended_session_cookie() {
  return base::cat(kSessionCookie, "=", kAttributes, "; Max-Age=0");
}

std::optional<Session> read_session(const net::Sealer& sealer, std::string_view cookies, base::WallTime now) {
  const auto sealed = cookie_in(cookies, kSessionCookie);
  if (!sealed) return std::nullopt;
  const auto text = sealer.open(*sealed, kPurpose);
  if (!text) return std::nullopt;
  const auto json = Json::parse(*text);
  if (!json) return std::nullopt;
  const auto began = base::parse_rfc3339(json->text_at("began"));
  const auto renewed = base::parse_rfc3339(json->text_at("renewed"));
  if (!began || !renewed) return std::nullopt;
  if (now - *renewed > kIdleMax || now - *began > kWholeMax) return std::nullopt;
  return Session{std::string(json->text_at("user")), std::string(json->text_at("token")),
                 std::string(json->text_at("refresh")), *began, *renewed};
}

}  // namespace tidemark::console
