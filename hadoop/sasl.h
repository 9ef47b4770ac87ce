// How a connection to a server with Kerberos begins, as messages and as decisions: RpcSaslProto, and the GSSAPI
// mechanism of RFC 4752 in it. No socket and no Kerberos here; what is to be asked of either comes out of each step.
//
//   client                                     server
//   "hrpc" 9 0 DF, NEGOTIATE          ─────▶
//                                     ◀─────   NEGOTIATE: methods, each with protocol and serverId
//   INITIATE: method, AP-REQ          ─────▶
//                                     ◀─────   CHALLENGE: AP-REP
//   RESPONSE: (nothing)               ─────▶
//                                     ◀─────   CHALLENGE: wrapped, its layers and the most it takes
//   RESPONSE: wrapped, the layer      ─────▶
//                                     ◀─────   SUCCESS
//
// After it all goes as it is (authentication), or each piece as WRAP with a token (integrity, privacy).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::hadoop {

inline constexpr std::int32_t kSaslCall = -33;
inline constexpr std::size_t kSaslMethodsMax = 16;             // that a server offers
inline constexpr std::size_t kSaslTokenBytesMax = 128 * 1024;  // before a layer is agreed on: a ticket with its groups
inline constexpr int kSaslRoundsMax = 10;                      // challenges; Kerberos takes two

// hadoop.rpc.protection, from the least on.
enum class Protection : std::uint8_t { kAuthentication, kIntegrity, kPrivacy };
std::string_view to_string(Protection);
// "privacy,integrity": what is wanted, the best loved first. An unknown word is an error without its place.
Result<std::vector<Protection>> parse_protections(const std::vector<std::string>& words);

enum class SaslState : std::uint8_t { kSuccess, kNegotiate, kInitiate, kChallenge, kResponse, kWrap };

struct SaslMethod {
  std::string method;     // KERBEROS, TOKEN, SIMPLE
  std::string mechanism;  // GSSAPI, DIGEST-MD5, ""
  // Not said and empty are two things: a server knows its own method only by all of it.
  std::optional<std::string> protocol{};
  std::optional<std::string> server_id{};
  bool operator==(const SaslMethod&) const = default;
};

struct SaslMessage {
  SaslState state = SaslState::kSuccess;
  std::optional<std::string> token{};
  std::vector<SaslMethod> methods{};
  bool operator==(const SaslMessage&) const = default;
};

void append_sasl(std::string& out, const SaslMessage& message);
Result<SaslMessage> decode_sasl(std::string_view bytes);

// The principal that the configuration expects of the server.
struct SaslServer {
  std::string principal;  // yarn.resourcemanager.principal, with the host filled in: rm/host.example@EXAMPLE
  std::string pattern;    // yarn.resourcemanager.principal.pattern; not empty: it counts instead
  bool operator==(const SaslServer&) const = default;
};
// The principal with the canonical name of the address in the place of _HOST, in small letters. Hadoop's rule: only as
// the middle of NAME/_HOST@REALM.
bool wants_host(std::string_view principal);
std::string with_host(std::string_view principal, std::string_view canonical_name);
// Whether Hadoop's glob (* ? [a-z] {a,b} and \) matches all of the text.
bool matches_glob(std::string_view pattern, std::string_view text);

// One connection's beginning. Each call answers what is to be done next, or why it ends.
class SaslExchange {
 public:
  struct Next {
    enum class Do : std::uint8_t { kSend, kStep, kUnwrap, kWrap, kDone };
    Do what = Do::kDone;
    std::string bytes{};    // the token to step with, to unwrap, or what to wrap (integrity only)
    SaslMessage message{};  // of kSend
  };
  // `own_realm` is used if an advertised name has no realm.
  SaslExchange(SaslServer server, std::vector<Protection> wanted, std::string own_realm);

  static SaslMessage begin() { return {SaslState::kNegotiate}; }
  Result<Next> on_message(const SaslMessage& message);
  Result<Next> on_stepped(std::string token, bool complete);
  Result<Next> on_unwrapped(std::string_view layers);
  Result<Next> on_wrapped(std::string token);

  const std::string& server_principal() const {
    return principal_;
  }  // from the first kStep on: principal of the ticket
  Protection protection() const { return protection_; }  // of kDone
  std::uint32_t send_max() const { return send_max_; }   // the largest token that the server takes

 private:
  enum class At : std::uint8_t { kNegotiate, kContext, kLayers, kChosen, kDone };
  Result<Next> on_negotiate(const SaslMessage& message);
  Result<Next> on_challenge(const SaslMessage& message);
  Result<std::string> expected(const SaslMethod& method) const;

  SaslServer server_;
  std::vector<Protection> wanted_;
  std::string own_realm_;
  At at_ = At::kNegotiate;
  bool stepped_ = false;  // the next thing is to come from Kerberos, not from the server
  int rounds_ = 0;
  SaslMethod method_;
  bool initiated_ = false;
  std::string principal_;
  Protection protection_ = Protection::kAuthentication;
  std::uint32_t send_max_ = 0;
};

}  // namespace tidemark::hadoop
