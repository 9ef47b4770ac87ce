#include "hadoop/rpc_frames.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "hadoop/wire.h"

namespace tidemark::hadoop {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr std::string_view kClient = "0123456789abcdef";

std::string frame_of(std::string_view header, std::optional<std::string_view> response = std::nullopt) {
  std::string out;
  append_delimited(out, header);
  if (response) append_delimited(out, *response);
  return out;
}

// The bytes of copilot contract 7: those that Koordinator sends, except for our own options.
TEST(RpcFramesTest, OpensAConnectionLikeKoordinator) {
  EXPECT_EQ(
      preamble(Authentication::kSimple) + connection_context({.real_user = "root", .effective_user = ""}, "p", kClient),
      "hrpc\x09\x00\x00"
      "\x00\x00\x00\x27"
      "\x1a\x08\x02\x10\x00\x18\x05\x22\x10"
      "0123456789abcdef"
      "\x28\x01"
      "\x0b\x12\x06\x12\x04root\x1a\x01p"sv);
}

TEST(RpcFramesTest, SendsTheCallerAsEffectiveUser) {
  const std::string head = connection_context({.real_user = "", .effective_user = "yarn"}, "p", kClient);
  EXPECT_TRUE(head.ends_with("\x12\x06\x0a\x04yarn\x1a\x01p"sv));
}

TEST(RpcFramesTest, EncodesCallAsHeaderMethodAndRequest) {
  std::string out;
  append_call(out, 1, kClient, {"p", "m"}, "xyz");
  EXPECT_EQ(out,
            "\x00\x00\x00\x28"
            "\x1a\x08\x02\x10\x00\x18\x02\x22\x10"
            "0123456789abcdef"
            "\x28\x00"
            "\x08\x0a\x01m\x12\x01p\x18\x01"
            "\x03xyz"sv);
}

TEST(RpcFramesTest, ReadsCallNumberAndResponse) {
  std::string header;
  WireWriter(header).number(1, 7).number(2, 0).number(3, 9).bytes(7, kClient).zigzag(8, -1);
  const std::string frame = frame_of(header, "response");
  const auto answer = read_answer(frame);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->call_id, 7);
  EXPECT_FALSE(answer->refusal);
  EXPECT_EQ(answer->response, "response");
}

TEST(RpcFramesTest, ReadsARefusalOfTheConnection) {
  std::string header;
  WireWriter(header)
      .number(1, 0xffffffff)
      .number(2, 2)
      .bytes(4, "org.apache.hadoop.security.AccessControlException")
      .bytes(5, "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]")
      .number(6, 15)
      .bytes(7, "");
  const std::string frame = frame_of(header);
  const auto answer = read_answer(frame);
  ASSERT_TRUE(answer && answer->refusal);
  EXPECT_EQ(answer->call_id, -1);
  EXPECT_TRUE(answer->refusal->fatal);
  const Error error = to_error(*answer->refusal);
  EXPECT_EQ(error.kind, ErrorKind::kDenied);
  EXPECT_EQ(error.message,
            "AccessControlException: SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]");
}

TEST(RpcFramesTest, MapsExceptionClassToErrorKind) {
  const auto kind = [](std::string_view exception, std::int32_t detail = 1) {
    return to_error({.exception = std::string(exception), .message = "why\n\tat org.apache.X", .detail = detail}).kind;
  };
  EXPECT_EQ(kind("org.apache.hadoop.ipc.StandbyException"), ErrorKind::kUnavailable);
  EXPECT_EQ(kind("org.apache.hadoop.security.authorize.AuthorizationException"), ErrorKind::kDenied);
  EXPECT_EQ(kind("org.apache.hadoop.security.token.SecretManager$InvalidToken"), ErrorKind::kDenied);
  EXPECT_EQ(kind("org.apache.hadoop.yarn.exceptions.YarnException"), ErrorKind::kInternal);
  EXPECT_EQ(kind("org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"), ErrorKind::kNotFound);
  EXPECT_EQ(kind("x", 3), ErrorKind::kUnsupported);
  EXPECT_EQ(kind("x", 15), ErrorKind::kDenied);
  // As a ResourceManager of Hadoop 3.4.3 sent it (tests/yarn/test_admin_acl.py).
  const Error denied = to_error({.exception = "org.apache.hadoop.yarn.exceptions.YarnException",
                                 .message = "org.apache.hadoop.security.AccessControlException: User mallory doesn't "
                                            "have permission to call 'updateNodeResource'\n\tat X"});
  EXPECT_EQ(denied.kind, ErrorKind::kDenied);
  EXPECT_EQ(denied.message,
            "AccessControlException: User mallory doesn't have permission to call 'updateNodeResource'");
  const Error error = to_error({.exception = "org.apache.hadoop.ipc.StandbyException", .message = "why\n\tat X"});
  EXPECT_EQ(error.message, "StandbyException: why");
}

TEST(RpcFramesTest, RejectsWhatIsNoAnswer) {
  EXPECT_EQ(read_answer("").error().message, "RpcResponseHeaderProto: its length is missing");
  EXPECT_EQ(read_answer(frame_of("\x08\x01"sv)).error().message,
            "RpcResponseHeaderProto: no status that is known: is this a Hadoop RPC port?");
  EXPECT_EQ(read_answer(frame_of("\x08\x01\x10\x00"sv)).error().message, "the response: its length is missing");
}

TEST(RpcFramesTest, ReassemblesFrames) {
  const std::string stream =
      "\x00\x00\x00\x03"
      "abc"
      "\x00\x00\x00\x00"
      "\x00\x00\x00\x01"
      "d"s;
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameReader reader;
    std::vector<std::string> found;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.append(std::string_view(stream).substr(at, piece));
      for (auto frame = reader.next(); *frame; frame = reader.next()) found.emplace_back(**frame);
    }
    EXPECT_EQ(found, (std::vector<std::string>{"abc", "", "d"})) << "pieces of " << piece;
  }
}

TEST(RpcFramesTest, RejectsAnotherProtocolByItsLength) {
  FrameReader reader;
  reader.append("HTTP/1.1 404 Not Found");
  EXPECT_EQ(reader.next().error().message,
            "an answer of 1213486160 bytes, more than 67108864: is this a Hadoop RPC port?");
}

}  // namespace
}  // namespace tidemark::hadoop
