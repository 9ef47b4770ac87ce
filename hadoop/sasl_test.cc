#include "hadoop/sasl.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "hadoop/rpc_frames.h"
#include "hadoop/wire.h"

namespace tidemark::hadoop {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using Do = SaslExchange::Next::Do;

constexpr std::string_view kRealm = "EXAMPLE.COM";
const SaslServer kServer{"rm/host.example@EXAMPLE.COM", ""};

SaslMethod kerberos(std::optional<std::string> protocol = "rm", std::optional<std::string> server = "host.example") {
  return {"KERBEROS", "GSSAPI", std::move(protocol), std::move(server)};
}
SaslMessage negotiate(std::vector<SaslMethod> methods) {
  return {SaslState::kNegotiate, std::nullopt, std::move(methods)};
}
const SaslMethod kToken{"TOKEN", "DIGEST-MD5", "", "default"};

SaslExchange exchange(std::vector<Protection> wanted = {Protection::kAuthentication}, SaslServer server = kServer) {
  return {std::move(server), std::move(wanted), std::string(kRealm)};
}

// Until the server's layers must be unwrapped.
SaslExchange proved(std::vector<Protection> wanted) {
  SaslExchange out = exchange(std::move(wanted));
  EXPECT_TRUE(out.on_message(negotiate({kerberos()})));
  EXPECT_TRUE(out.on_stepped("ap-req", false));
  EXPECT_TRUE(out.on_message({SaslState::kChallenge, "ap-rep"}));
  EXPECT_TRUE(out.on_stepped("", true));
  const auto next = out.on_message({SaslState::kChallenge, "layers"});
  EXPECT_TRUE(next && next->what == Do::kUnwrap);
  return out;
}

std::string why(const Result<SaslExchange::Next>& next) {
  return next ? "" : next.error().message;
}

// What a client of Hadoop 3.4 sends first: header with call −33 (zig-zag 65), no client, retry −1; then the state.
TEST(SaslTest, FramesAMessageAsCallMinus33) {
  std::string out;
  append_sasl(out, SaslExchange::begin());
  EXPECT_EQ(out,
            "\x00\x00\x00\x0e"
            "\x0a\x08\x02\x10\x00\x18\x41\x22\x00\x28\x01"
            "\x02\x10\x01"sv);
  EXPECT_EQ(preamble(Authentication::kSasl), "hrpc\x09\x00\xdf"sv);
}

TEST(SaslTest, RoundTrips) {
  const SaslMessage all{SaslState::kInitiate, "token", {kToken, kerberos(), kerberos(std::nullopt, "")}};
  std::string frame;
  append_sasl(frame, all);
  std::string_view rest = std::string_view(frame).substr(4);
  ASSERT_TRUE(take_delimited(rest, "header"));
  EXPECT_EQ(decode_sasl(*take_delimited(rest, "body")), all);
  EXPECT_EQ(decode_sasl("").error().message, "RpcSaslProto: no state that is known");
  EXPECT_EQ(decode_sasl("\x10\x06").error().message, "RpcSaslProto: no state that is known");
  std::string many = "\x10\x01";
  for (int i = 0; i < 17; ++i) many += "\x22\x00"s;
  EXPECT_EQ(decode_sasl(many).error().message, "RpcSaslProto: more than 16 methods");
}

TEST(SaslTest, FollowsHadoopsExchange) {
  SaslExchange sasl = exchange({Protection::kPrivacy, Protection::kIntegrity});
  auto next = sasl.on_message(negotiate({kToken, kerberos()}));
  ASSERT_TRUE(next && next->what == Do::kStep) << why(next);
  EXPECT_EQ(next->bytes, "");
  EXPECT_EQ(sasl.server_principal(), "rm/host.example@EXAMPLE.COM");
  next = sasl.on_stepped("ap-req", false);
  ASSERT_TRUE(next && next->what == Do::kSend);
  EXPECT_EQ(next->message, (SaslMessage{SaslState::kInitiate, "ap-req", {kerberos()}}));
  next = sasl.on_message({SaslState::kChallenge, "ap-rep"});
  ASSERT_TRUE(next && next->what == Do::kStep);
  EXPECT_EQ(next->bytes, "ap-rep");
  next = sasl.on_stepped("", true);
  ASSERT_TRUE(next && next->what == Do::kSend);
  EXPECT_EQ(next->message, (SaslMessage{SaslState::kResponse, ""}));
  next = sasl.on_message({SaslState::kChallenge, "wrapped layers"});
  ASSERT_TRUE(next && next->what == Do::kUnwrap);
  EXPECT_EQ(next->bytes, "wrapped layers");
  next = sasl.on_unwrapped("\x07\x01\x00\x00"sv);
  ASSERT_TRUE(next && next->what == Do::kWrap);
  EXPECT_EQ(next->bytes, "\x04\x01\x00\x00"sv);  // privacy, 65536
  next = sasl.on_wrapped("chosen");
  ASSERT_TRUE(next && next->what == Do::kSend);
  EXPECT_EQ(next->message, (SaslMessage{SaslState::kResponse, "chosen"}));
  next = sasl.on_message({SaslState::kSuccess});
  ASSERT_TRUE(next && next->what == Do::kDone);
  EXPECT_EQ(sasl.protection(), Protection::kPrivacy);
  EXPECT_EQ(sasl.send_max(), 65536U);
}

// RFC 4752, 3.1: "If the client does not support any security layer, the maximum size is to be 0".
TEST(SaslTest, ChoosesOurFirstLayerThatTheServerHas) {
  const auto chosen = [](std::vector<Protection> wanted, std::string_view offered) {
    const auto next = proved(std::move(wanted)).on_unwrapped(offered);
    return next ? next->bytes : next.error().message;
  };
  using enum Protection;
  EXPECT_EQ(chosen({kAuthentication, kPrivacy}, "\x07\x00\xff\xff"sv), "\x01\x00\x00\x00"sv);
  EXPECT_EQ(chosen({kPrivacy, kAuthentication}, "\x01\x00\xff\xff"sv), "\x01\x00\x00\x00"sv);
  EXPECT_EQ(chosen({kPrivacy, kIntegrity}, "\x03\x00\xff\xff"sv), "\x02\x01\x00\x00"sv);
  EXPECT_EQ(chosen({kPrivacy}, "\x03\x00\xff\xff"sv),
            "hadoop.rpc.protection: wanted privacy, the server has authentication,integrity");
  EXPECT_EQ(chosen({kAuthentication}, "\x04\x00\xff\xff"sv),
            "hadoop.rpc.protection: wanted authentication, the server has privacy");
  EXPECT_EQ(chosen({kAuthentication}, "\x01"sv), "SASL: the server's layers are 1 bytes, wanted 4");
}

TEST(SaslTest, RejectsAServerWithoutAuthentication) {
  EXPECT_NE(why(exchange().on_message({SaslState::kSuccess})).find("requires no authentication (SIMPLE)"),
            std::string::npos);
  EXPECT_EQ(why(exchange().on_message(negotiate({{"SIMPLE", ""}, kToken}))),
            "the server offers SIMPLE, TOKEN and not KERBEROS, which hadoop.security.authentication asks for here: "
            "nothing is "
            "sent to it. It accepts clients without authentication: is its own core-site.xml the same?");
  // A method under the name of another one is refused.
  EXPECT_NE(why(exchange().on_message(negotiate({{"KERBEROS", "PLAIN", "rm", "host.example"}}))), "");
}

TEST(SaslTest, RejectsSuccessBeforeAuthentication) {
  SaslExchange sasl = exchange();
  ASSERT_TRUE(sasl.on_message(negotiate({kerberos()})));
  ASSERT_TRUE(sasl.on_stepped("ap-req", false));
  EXPECT_EQ(why(sasl.on_message({SaslState::kSuccess})),
            "SASL: the server reports success before it has authenticated");
  EXPECT_EQ(why(proved({Protection::kPrivacy}).on_message({SaslState::kSuccess})),
            "SASL: unexpected message of the server");
}

TEST(SaslTest, RejectsMessagesOutOfOrder) {
  EXPECT_NE(why(exchange().on_message({SaslState::kChallenge, "x"})), "");
  EXPECT_NE(why(exchange().on_message({SaslState::kWrap, "x"})), "");
  SaslExchange twice = exchange();
  ASSERT_TRUE(twice.on_message(negotiate({kerberos()})));
  EXPECT_EQ(why(twice.on_message(negotiate({kerberos()}))), "SASL: unexpected message of the server");
  ASSERT_TRUE(twice.on_stepped("ap-req", false));
  EXPECT_NE(why(twice.on_message(negotiate({kerberos()}))), "");

  SaslExchange endless = exchange();
  ASSERT_TRUE(endless.on_message(negotiate({kerberos()})));
  ASSERT_TRUE(endless.on_stepped("ap-req", false));
  for (int i = 0; i < kSaslRoundsMax; ++i) {
    ASSERT_TRUE(endless.on_message({SaslState::kChallenge, "more"}));
    ASSERT_TRUE(endless.on_stepped("more", false));
  }
  EXPECT_EQ(why(endless.on_message({SaslState::kChallenge, "more"})), "SASL: more than 10 challenges");

  SaslExchange large = exchange();
  ASSERT_TRUE(large.on_message(negotiate({kerberos()})));
  ASSERT_TRUE(large.on_stepped("ap-req", false));
  EXPECT_NE(why(large.on_message({SaslState::kChallenge, std::string(kSaslTokenBytesMax + 1, 'x')})), "");
}

// SaslRpcClient.getServerPrincipal.
TEST(SaslTest, RequiresTheConfiguredServer) {
  const auto principal = [](const SaslServer& server, const SaslMethod& method) {
    SaslExchange sasl = exchange({Protection::kAuthentication}, server);
    const auto next = sasl.on_message(negotiate({method}));
    return next ? sasl.server_principal() : next.error().message;
  };
  EXPECT_EQ(principal({"rm/host.example", ""}, kerberos()), "rm/host.example@EXAMPLE.COM");
  EXPECT_EQ(principal({"rm/host.example@OTHER.REALM", ""}, kerberos()), "rm/host.example@OTHER.REALM");
  EXPECT_EQ(principal(kServer, kerberos("rm", "elsewhere")),
            "the server calls itself rm/elsewhere, and yarn.resourcemanager.principal expects rm/host.example: is that "
            "the name that its address is looked up as?");
  EXPECT_EQ(principal(kServer, kerberos(std::nullopt, std::nullopt)).find("the server calls itself /, and"), 0U);
  EXPECT_EQ(principal({"rm@EXAMPLE.COM", ""}, kerberos()),
            "yarn.resourcemanager.principal is to have a host, as in rm/_HOST@REALM; found rm@EXAMPLE.COM");
  EXPECT_EQ(principal({"", ""}, kerberos()),
            "yarn.resourcemanager.principal is not set: give the server's principal, such as rm/_HOST@EXAMPLE.COM");
  EXPECT_EQ(principal({"x/y@Z", "rm/*@EXAMPLE.COM"}, kerberos("rm", "any")), "rm/any@EXAMPLE.COM");
  EXPECT_EQ(principal({"", "rm/*.example@EXAMPLE.COM"}, kerberos("hdfs", "host.example")),
            "the server calls itself hdfs/host.example@EXAMPLE.COM, which yarn.resourcemanager.principal.pattern does "
            "not match: rm/*.example@EXAMPLE.COM");
}

// SecurityUtil.getServerPrincipal: three parts, of which the second is _HOST.
TEST(SaslTest, FillsInTheHostLikeHadoop) {
  EXPECT_EQ(with_host("rm/_HOST@R", "Host.Example"), "rm/host.example@R");
  for (const char* other :
       {"rm/host@R", "rm/_HOST", "_HOST/rm@R", "rm@R", "rm/x/_HOST@R", "rm/_HOST/x@R", "rm/_HOST@", ""}) {
    EXPECT_FALSE(wants_host(other)) << other;
    EXPECT_EQ(with_host(other, "h"), other);
  }
}

TEST(SaslTest, ReadsProtectionsInOrder) {
  using enum Protection;
  EXPECT_EQ(parse_protections({"privacy", "Integrity", "privacy"}), (std::vector{kPrivacy, kIntegrity}));
  EXPECT_EQ(parse_protections({"auth-conf"}).error().message,
            "\"auth-conf\" is not one of authentication, integrity, privacy");
  EXPECT_FALSE(parse_protections({}));
}

TEST(SaslTest, MatchesGlobsLikeHadoop) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("rm/*@R", "rm/a.b@R"));
  EXPECT_FALSE(matches_glob("rm/*@R", "rm/a.b@R2"));
  EXPECT_TRUE(matches_glob("rm/host?@R", "rm/host1@R"));
  EXPECT_FALSE(matches_glob("rm/host?@R", "rm/host@R"));
  EXPECT_TRUE(matches_glob("{rm,yarn}/h[0-9][!x]@R", "yarn/h7y@R"));
  EXPECT_FALSE(matches_glob("{rm,yarn}/h[0-9][^x]@R", "yarn/h7x@R"));
  EXPECT_TRUE(matches_glob("a{b,c{d,e}}f", "acef"));
  EXPECT_TRUE(matches_glob("\\*", "*"));
  EXPECT_FALSE(matches_glob("\\*", "x"));
  EXPECT_FALSE(matches_glob("[a", "a"));
  EXPECT_FALSE(matches_glob("{a", "a"));
  EXPECT_FALSE(matches_glob("*a*a*a*a*a*a*a*a*a*a*b", std::string(1000, 'a')));  // and it ends
}

}  // namespace
}  // namespace tidemark::hadoop
