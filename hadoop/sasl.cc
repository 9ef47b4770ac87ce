#include "hadoop/sasl.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "hadoop/rpc_frames.h"
#include "hadoop/wire.h"

namespace tidemark::hadoop {
namespace {

constexpr std::string_view kKerberos = "KERBEROS";
constexpr std::string_view kGssapi = "GSSAPI";
constexpr std::string_view kHostPlace = "_HOST";

// The largest token that we accept, as sent to the server: the same as Java's clients. Hadoop's server ignores it.
constexpr std::uint32_t kReceiveMax = 65536;

struct Layer {
  Protection protection;
  unsigned char bit;  // RFC 4752, 3.3
  std::string_view word;
};
constexpr std::array kLayers = {
    Layer{Protection::kAuthentication, 1, "authentication"},
    Layer{Protection::kIntegrity, 2, "integrity"},
    Layer{Protection::kPrivacy, 4, "privacy"},
};

const Layer& layer_of(Protection protection) {
  return kLayers[static_cast<std::size_t>(protection)];
}

std::string small(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string words_of(const std::vector<Protection>& protections) {
  std::string out;
  for (const Protection each : protections) out += base::cat(out.empty() ? "" : ",", to_string(each));
  return out;
}

std::string words_of(unsigned char bits) {
  std::string out;
  for (const Layer& each : kLayers) {
    if ((bits & each.bit) != 0) out += base::cat(out.empty() ? "" : ",", each.word);
  }
  return out.empty() ? "none" : out;
}

std::string words_of(const std::vector<SaslMethod>& methods) {
  std::string out;
  for (const SaslMethod& each : methods) out += base::cat(out.empty() ? "" : ", ", each.method);
  return out.empty() ? "nothing" : out;
}

Result<SaslMethod> decode_method(std::string_view bytes) {
  SaslMethod out;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 1) out.method = field->text();
    if (field->number == 2) out.mechanism = field->text();
    if (field->number == 3) out.protocol = std::string(field->text());
    if (field->number == 4) out.server_id = std::string(field->text());
  }
  TM_TRY_VOID(reader.finish("SaslAuth"));
  return out;
}

std::string_view realm_of(std::string_view principal) {
  const std::size_t at = principal.rfind('@');
  return at == std::string_view::npos ? std::string_view() : principal.substr(at + 1);
}

std::string_view without_realm(std::string_view principal) {
  return principal.substr(0, principal.rfind('@'));
}

// One alternative each time: {a,b{c,d}} has its commas at depth 0 only.
struct Braces {
  std::vector<std::string_view> parts;
  std::string_view rest;
};

std::optional<Braces> braces_at(std::string_view pattern) {
  Braces out;
  int depth = 0;
  std::size_t begin = 1;
  for (std::size_t i = 1; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == '{') {
      ++depth;
    } else if (pattern[i] == ',' && depth == 0) {
      out.parts.push_back(pattern.substr(begin, i - begin));
      begin = i + 1;
    } else if (pattern[i] == '}' && depth-- == 0) {
      out.parts.push_back(pattern.substr(begin, i - begin));
      out.rest = pattern.substr(i + 1);
      return out;
    }
  }
  return std::nullopt;
}

// [abc], [a-z], [!a] and [^a]: how long it is, and whether the character is in it; nullopt: no end.
struct Set {
  std::size_t size;
  bool has;
};

std::optional<Set> set_at(std::string_view pattern, char c) {
  std::size_t i = 1;
  const bool other = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (other) ++i;
  bool has = false;
  for (bool first = true; i < pattern.size(); first = false, ++i) {
    if (pattern[i] == ']' && !first) return Set{i + 1, has != other};
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      has = has || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 2;
    } else {
      has = has || pattern[i] == c;
    }
  }
  return std::nullopt;
}

// A pattern is short and a person's, and yet each comparison has its price: ***…*** against a long text must end.
class Glob {
 public:
  bool matches(std::string_view pattern, std::string_view text) {
    while (!pattern.empty()) {
      if (--left_ < 0) return false;
      switch (pattern[0]) {
        case '*':
          for (std::size_t i = 0; i <= text.size(); ++i) {
            if (matches(pattern.substr(1), text.substr(i))) return true;
          }
          return false;
        case '{': {
          const auto braces = braces_at(pattern);
          if (!braces) return false;
          return std::ranges::any_of(
              braces->parts, [&](std::string_view part) { return matches(base::cat(part, braces->rest), text); });
        }
        case '[': {
          if (text.empty()) return false;
          const auto set = set_at(pattern, text[0]);
          if (!set || !set->has) return false;
          pattern.remove_prefix(set->size);
          break;
        }
        case '\\':
          if (pattern.size() > 1) pattern.remove_prefix(1);
          [[fallthrough]];
        default:
          if (text.empty() || pattern[0] != text[0]) return false;
          pattern.remove_prefix(1);
          break;
        case '?':
          if (text.empty()) return false;
          pattern.remove_prefix(1);
          break;
      }
      text.remove_prefix(1);
    }
    return text.empty();
  }

 private:
  static constexpr int kComparisonsMax = 100'000;
  int left_ = kComparisonsMax;
};

}  // namespace

std::string_view to_string(Protection protection) {
  return layer_of(protection).word;
}

Result<std::vector<Protection>> parse_protections(const std::vector<std::string>& words) {
  std::vector<Protection> out;
  for (const std::string& word : words) {
    const std::string lower = small(word);
    const auto found = std::ranges::find(kLayers, lower, &Layer::word);
    if (found == kLayers.end()) {
      return fail(ErrorKind::kInvalid, base::in_quotes(word), " is not one of authentication, integrity, privacy");
    }
    if (std::ranges::find(out, found->protection) == out.end()) out.push_back(found->protection);
  }
  if (out.empty()) return fail(ErrorKind::kInvalid, "wanted authentication, integrity or privacy, found nothing");
  return out;
}

void append_sasl(std::string& out, const SaslMessage& message) {
  std::string body;
  WireWriter writer(body);
  writer.number(2, static_cast<std::int64_t>(message.state));
  if (message.token) writer.bytes(3, *message.token);
  for (const SaslMethod& each : message.methods) {
    writer.message(4, [&](WireWriter& method) {
      method.bytes(1, each.method).bytes(2, each.mechanism);
      if (each.protocol) method.bytes(3, *each.protocol);
      if (each.server_id) method.bytes(4, *each.server_id);
    });
  }
  append_message(out, kSaslCall, body);
}

Result<SaslMessage> decode_sasl(std::string_view bytes) {
  SaslMessage out;
  std::optional<std::int64_t> state;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 2) state = field->integer();
    if (field->number == 3) out.token = std::string(field->text());
    if (field->number != 4) continue;
    if (out.methods.size() == kSaslMethodsMax) {
      return fail(ErrorKind::kInvalid, "RpcSaslProto: more than ", kSaslMethodsMax, " methods");
    }
    TM_TRY(auto method, decode_method(field->text()));
    out.methods.push_back(std::move(method));
  }
  TM_TRY_VOID(reader.finish("RpcSaslProto"));
  if (!state || *state < 0 || *state > static_cast<std::int64_t>(SaslState::kWrap)) {
    return fail(ErrorKind::kInvalid, "RpcSaslProto: no state that is known");
  }
  out.state = static_cast<SaslState>(*state);
  return out;
}

bool wants_host(std::string_view principal) {
  const std::size_t slash = principal.find_first_of("/@");
  if (slash == std::string_view::npos || principal[slash] != '/') return false;
  const std::string_view rest = principal.substr(slash + 1);
  const std::size_t at = rest.find_first_of("/@");
  return at != std::string_view::npos && rest.substr(0, at) == kHostPlace &&
         rest.find_first_of("/@", at + 1) == std::string_view::npos && at + 1 < rest.size();
}

std::string with_host(std::string_view principal, std::string_view canonical_name) {
  if (!wants_host(principal)) return std::string(principal);
  const std::size_t slash = principal.find('/');
  return base::cat(principal.substr(0, slash + 1), small(canonical_name),
                   principal.substr(slash + 1 + kHostPlace.size()));
}

bool matches_glob(std::string_view pattern, std::string_view text) {
  return Glob().matches(pattern, text);
}

SaslExchange::SaslExchange(SaslServer server, std::vector<Protection> wanted, std::string own_realm)
    : server_(std::move(server)), wanted_(std::move(wanted)), own_realm_(std::move(own_realm)) {}

// Like SaslRpcClient.getServerPrincipal: the server's own name must be the expected one; otherwise any holder of a key
// of the realm could answer in its place.
Result<std::string> SaslExchange::expected(const SaslMethod& method) const {
  const std::string told = base::cat(method.protocol.value_or(""), "/", method.server_id.value_or(""));
  if (!server_.pattern.empty()) {
    std::string name = base::cat(told, "@", own_realm_);
    if (matches_glob(server_.pattern, name)) return name;
    return fail(ErrorKind::kDenied, "the server calls itself ", name,
                ", which yarn.resourcemanager.principal.pattern does not match: ", server_.pattern);
  }
  if (server_.principal.empty()) {
    return fail(ErrorKind::kInvalid,
                "yarn.resourcemanager.principal is not set: give the server's principal, such as rm/_HOST@",
                own_realm_.empty() ? "REALM" : own_realm_);
  }
  const std::string_view wanted = without_realm(server_.principal);
  if (wanted.find('/') == std::string_view::npos) {
    return fail(ErrorKind::kInvalid, "yarn.resourcemanager.principal is to have a host, as in rm/_HOST@REALM; found ",
                server_.principal);
  }
  if (wanted != told) {
    return fail(ErrorKind::kDenied, "the server calls itself ", told, ", and yarn.resourcemanager.principal expects ",
                wanted, ": is that the name that its address is looked up as?");
  }
  if (!realm_of(server_.principal).empty()) return server_.principal;
  return own_realm_.empty() ? server_.principal : base::cat(server_.principal, "@", own_realm_);
}

Result<SaslExchange::Next> SaslExchange::on_message(const SaslMessage& message) {
  if (stepped_) return fail(ErrorKind::kInvalid, "SASL: unexpected message of the server");
  switch (message.state) {
    case SaslState::kNegotiate:
      if (at_ == At::kNegotiate) return on_negotiate(message);
      break;
    case SaslState::kChallenge:
      if (at_ == At::kContext || at_ == At::kLayers) return on_challenge(message);
      break;
    case SaslState::kSuccess:
      if (at_ == At::kNegotiate) {
        return fail(
            ErrorKind::kDenied,
            "the server requires no authentication (SIMPLE), but hadoop.security.authentication is kerberos here: "
            "nothing is sent to it. Is it the right server, and is its own core-site.xml the same?");
      }
      if (at_ != At::kChosen) {
        return fail(ErrorKind::kDenied, "SASL: the server reports success before it has authenticated");
      }
      if (message.token && !message.token->empty()) {
        return fail(ErrorKind::kInvalid, "SASL: a token with the last message, which GSSAPI has not");
      }
      at_ = At::kDone;
      return Next{Next::Do::kDone};
    default:
      break;
  }
  return fail(ErrorKind::kInvalid, "SASL: a message of the server that has no place here (state ",
              static_cast<int>(message.state), ")");
}

Result<SaslExchange::Next> SaslExchange::on_negotiate(const SaslMessage& message) {
  for (const SaslMethod& each : message.methods) {
    if (each.method != kKerberos || each.mechanism != kGssapi) continue;
    TM_TRY(principal_, expected(each));
    method_ = each;
    at_ = At::kContext;
    stepped_ = true;
    return Next{Next::Do::kStep};
  }
  const bool simple = std::ranges::find(message.methods, "SIMPLE", &SaslMethod::method) != message.methods.end();
  return fail(ErrorKind::kDenied, "the server offers ", words_of(message.methods),
              " and not KERBEROS, which hadoop.security.authentication asks for here: nothing is sent to it",
              simple ? ". It accepts clients without authentication: is its own core-site.xml the same?" : "");
}

Result<SaslExchange::Next> SaslExchange::on_challenge(const SaslMessage& message) {
  if (++rounds_ > kSaslRoundsMax) return fail(ErrorKind::kInvalid, "SASL: more than ", kSaslRoundsMax, " challenges");
  const std::string token = message.token.value_or("");
  if (token.size() > kSaslTokenBytesMax) {
    return fail(ErrorKind::kInvalid, "SASL: a token of ", token.size(), " bytes, more than ", kSaslTokenBytesMax);
  }
  stepped_ = true;
  return Next{at_ == At::kContext ? Next::Do::kStep : Next::Do::kUnwrap, token};
}

Result<SaslExchange::Next> SaslExchange::on_stepped(std::string token, bool complete) {
  stepped_ = false;
  if (complete) at_ = At::kLayers;
  SaslMessage answer;
  answer.token = std::move(token);
  answer.state = initiated_ ? SaslState::kResponse : SaslState::kInitiate;
  if (!std::exchange(initiated_, true)) answer.methods.push_back(method_);
  return Next{Next::Do::kSend, {}, std::move(answer)};
}

Result<SaslExchange::Next> SaslExchange::on_unwrapped(std::string_view layers) {
  if (layers.size() != 4) {
    return fail(ErrorKind::kInvalid, "SASL: the server's layers are ", layers.size(), " bytes, wanted 4");
  }
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(layers[i]); };
  const auto chosen =
      std::ranges::find_if(wanted_, [&](Protection each) { return (byte(0) & layer_of(each).bit) != 0; });
  if (chosen == wanted_.end()) {
    return fail(ErrorKind::kDenied, "hadoop.rpc.protection: wanted ", words_of(wanted_), ", the server has ",
                words_of(byte(0)));
  }
  protection_ = *chosen;
  send_max_ = static_cast<std::uint32_t>(byte(1)) << 16 | static_cast<std::uint32_t>(byte(2)) << 8 | byte(3);
  // Without a layer nothing is wrapped, and the size must be 0. No name follows: the ticket identifies us.
  const std::uint32_t take = protection_ == Protection::kAuthentication ? 0 : kReceiveMax;
  std::string answer(1, static_cast<char>(layer_of(protection_).bit));
  for (const int shift : {16, 8, 0}) answer.push_back(static_cast<char>(take >> shift & 0xff));
  return Next{Next::Do::kWrap, std::move(answer)};
}

Result<SaslExchange::Next> SaslExchange::on_wrapped(std::string token) {
  stepped_ = false;
  at_ = At::kChosen;
  return Next{Next::Do::kSend, {}, SaslMessage{SaslState::kResponse, std::move(token)}};
}

}  // namespace tidemark::hadoop
