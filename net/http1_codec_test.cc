#include "net/http1_codec.h"

#include <gtest/gtest.h>

#include <random>

#include "net/http_fields.h"

namespace tidemark::net {
namespace {

using ReaderKind = Http1Reader::Kind;
using Step = Http1Reader::Step;

// All events of a reader as one text, to compare two ways of feeding it.
struct Story {
  std::string text;
  std::vector<Http1Head> heads;
  std::vector<std::string> bodies;
  std::optional<Error> error;
};

Story read_all(ReaderKind kind, std::string_view bytes, std::size_t piece, bool end = true, bool to_head = false,
               HttpLimits limits = {}) {
  Http1Reader reader(kind, limits);
  reader.answers_head(to_head);
  Story story;
  const auto tell = [&](Step step) {
    switch (step) {
      case Step::kHead:
        story.heads.push_back(reader.head());
        story.bodies.emplace_back();
        story.text += base::cat("head ", reader.head().method, reader.head().status, ";");
        break;
      case Step::kBody:
        story.bodies.back() += reader.body();
        break;
      case Step::kEnd:
        story.text += base::cat("body ", story.bodies.back(), "; end;");
        break;
      case Step::kFailed:
        story.error = reader.error();
        story.text += base::cat("failed ", reader.error().message);
        break;
      case Step::kNeedMore:
        break;
    }
  };
  while (!bytes.empty() && !story.error) {
    std::string_view now = bytes.substr(0, piece);
    bytes.remove_prefix(now.size());
    Step step;
    do tell(step = reader.next(now));
    while (step != Step::kNeedMore && step != Step::kFailed);
  }
  if (end && !story.error) tell(reader.finish());
  return story;
}

Story requests(std::string_view bytes, HttpLimits limits = {}) {
  Story whole = read_all(ReaderKind::kRequests, bytes, bytes.size(), true, false, limits);
  for (const std::size_t piece : {1u, 2u, 3u, 7u}) {
    EXPECT_EQ(read_all(ReaderKind::kRequests, bytes, piece, true, false, limits).text, whole.text) << bytes;
  }
  return whole;
}

Story responses(std::string_view bytes, bool to_head = false) {
  Story whole = read_all(ReaderKind::kResponses, bytes, bytes.size(), true, to_head);
  for (const std::size_t piece : {1u, 2u, 3u, 7u}) {
    EXPECT_EQ(read_all(ReaderKind::kResponses, bytes, piece, true, to_head).text, whole.text) << bytes;
  }
  return whole;
}

TEST(Http1Requests, PlainAndWithBodies) {
  const Story story = requests(
      "GET /a?b=c HTTP/1.1\r\nHost: h\r\nX-Y:  two words \t\r\n\r\n"
      "POST /p HTTP/1.1\r\nhost: h\r\nContent-Length: 5\r\n\r\nhello"
      "PUT /c HTTP/1.1\r\nhost: h\r\nTransfer-Encoding: Chunked\r\n\r\n4;ext=1\r\nwiki\r\nA\r\n0123456789\r\n0\r\nT: "
      "v\r\n\r\n"
      "GET /z HTTP/1.0\r\n\r\n");
  ASSERT_FALSE(story.error) << story.error->message;
  ASSERT_EQ(story.heads.size(), 4u);
  EXPECT_EQ(story.heads[0].target, "/a?b=c");
  EXPECT_EQ(story.heads[0].headers.get("x-y"), "two words");
  EXPECT_TRUE(story.heads[0].keep_alive);
  EXPECT_EQ(story.bodies[1], "hello");
  EXPECT_EQ(story.bodies[2], "wiki0123456789");
  EXPECT_FALSE(story.heads[3].keep_alive);
}

TEST(Http1Requests, KeepAliveFollowsVersionAndConnection) {
  const auto keeps = [](std::string_view head) { return requests(head).heads.at(0).keep_alive; };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n"));
}

TEST(Http1Requests, ExpectContinue) {
  EXPECT_TRUE(requests("PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\nx")
                  .heads[0]
                  .expects_continue);
  EXPECT_FALSE(requests("GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n").heads[0].expects_continue);
  EXPECT_EQ(requests("GET / HTTP/1.1\r\nHost: h\r\nExpect: cake\r\n\r\n").error->code, 417);
}

TEST(Http1Requests, AbsoluteFormIsReduced) {
  const Story story =
      requests("GET http://other:80/x?y HTTP/1.1\r\nHost: h\r\n\r\nGET http://o?q HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_EQ(story.heads.size(), 2u);
  EXPECT_EQ(story.heads[0].target, "/x?y");
  EXPECT_EQ(story.heads[0].headers.get("host"), "other:80");
  EXPECT_EQ(story.heads[1].target, "/?q");
}

// RFC 9112 section 11.2, and the ways in which it has been done.
TEST(Http1Requests, SmugglingIsRefused) {
  struct Case {
    const char* what;
    const char* fields;
    int code;
  };
  const Case cases[] = {
      {"two lengths", "Content-Length: 5\r\nContent-Length: 6\r\n", 400},
      {"two equal lengths", "Content-Length: 5\r\nContent-Length: 5\r\n", 400},
      {"a list of lengths", "Content-Length: 5, 5\r\n", 400},
      {"a signed length", "Content-Length: +5\r\n", 400},
      {"a negative length", "Content-Length: -5\r\n", 400},
      {"a hexadecimal length", "Content-Length: 0x5\r\n", 400},
      {"an empty length", "Content-Length:\r\n", 400},
      {"a length that overflows", "Content-Length: 18446744073709551617\r\n", 400},
      {"length and coding", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
      {"coding and length", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
      {"two codings", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 501},
      {"a list of codings", "Transfer-Encoding: gzip, chunked\r\n", 501},
      {"coding by a look-alike", "Transfer-Encoding: xchunked\r\n", 501},
      {"coding with a vertical tab", "Transfer-Encoding: \vchunked\r\n", 400},
      {"a blank before the colon", "Content-Length : 5\r\n", 400},
      {"a folded line", "X: a\r\n b\r\n", 400},
      {"a first line folded", " X: a\r\n", 400},
      {"no colon", "X\r\n", 400},
      {"an empty name", ": v\r\n", 400},
      {"a name with a control character", "X\x01Y: v\r\n", 400},
      {"a name in brackets", "X[]: v\r\n", 400},
      {"a value with a bare CR", "X: a\rContent-Length: 3\r\n", 400},
      {"a bare LF", "X: a\nY: b\r\n", 400},
      {"a value with a delete", "X: a\x7f\r\n", 400},
      {"a second host", "Host: other\r\n", 400},
  };
  for (const Case& c : cases) {
    const Story story = requests(base::cat("POST / HTTP/1.1\r\nHost: h\r\n", c.fields, "\r\nhello"));
    ASSERT_TRUE(story.error) << c.what;
    EXPECT_EQ(story.error->code, c.code) << c.what;
    EXPECT_TRUE(story.heads.empty()) << c.what;
  }
}

TEST(Http1Requests, BadFirstLinesAreRefused) {
  const std::pair<const char*, int> cases[] = {
      {"GET /\r\nHost: h\r\n\r\n", 400},
      {"GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505},
      {"GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505},
      {"GET / http/1.1\r\nHost: h\r\n\r\n", 400},
      {"G(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET x HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET /\xff HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET /#f HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", 501},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\nHost: h\n\n", 400},
      {"\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"\x16\x03\x01\x02", 400},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
  };
  for (const auto& [bytes, code] : cases) {
    const Story story = requests(bytes);
    ASSERT_TRUE(story.error) << bytes;
    EXPECT_EQ(story.error->code, code) << bytes;
  }
  EXPECT_FALSE(requests("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n").error);
  EXPECT_FALSE(requests("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").error);
}

TEST(Http1Requests, BadChunksAreRefused) {
  for (const char* chunks :
       {"\r\n\r\n", "g\r\n", "-1\r\n", "+1\r\na\r\n", "0x1\r\na\r\n", "1 \r\na\r\n", "1\na\r\n", "1\r\nab\r\n",
        "1\r\na\n", "ffffffffffffffffff\r\n", "1;\x01\r\na\r\n", "0\r\nbad trailer\r\n\r\n", "0\r\n folded\r\n\r\n"}) {
    const Story story = requests(base::cat("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", chunks));
    ASSERT_TRUE(story.error) << chunks;
    EXPECT_EQ(story.error->code, 400) << chunks;
  }
  const Story line = requests(base::cat("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;",
                                        std::string(Http1Reader::kChunkLineMax, 'x'), "\r\na\r\n0\r\n\r\n"));
  ASSERT_TRUE(line.error);
}

TEST(Http1Requests, LimitsHold) {
  HttpLimits limits;
  limits.header_bytes_max = 100;
  limits.header_count_max = 3;
  const Story big = requests(base::cat("GET / HTTP/1.1\r\nHost: h\r\nX: ", std::string(100, 'x'), "\r\n\r\n"), limits);
  ASSERT_TRUE(big.error);
  EXPECT_EQ(big.error->code, 431);
  EXPECT_EQ(big.error->kind, ErrorKind::kExhausted);
  EXPECT_EQ(requests(base::cat("GET /", std::string(100, 'x')), limits).error->code, 431);
  EXPECT_EQ(requests("GET / HTTP/1.1\r\nHost: h\r\na: 1\r\nb: 2\r\nc: 3\r\n\r\n", limits).error->code, 431);
  // Trailers count as well.
  EXPECT_EQ(requests(base::cat("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nx: ",
                               std::string(60, 'x'), "\r\n\r\n"),
                     limits)
                .error->code,
            431);
  // Exactly at the limit is fine.
  const std::string head = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  limits.header_bytes_max = head.size();
  EXPECT_FALSE(requests(head, limits).error);
  limits.header_bytes_max = head.size() - 1;
  EXPECT_TRUE(requests(head, limits).error);
}

TEST(Http1Requests, ReportsATruncatedRequest) {
  const std::string whole = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const Story story = requests(whole.substr(0, length));
    ASSERT_TRUE(story.error) << length;
    EXPECT_EQ(story.error->kind, ErrorKind::kUnavailable) << length;
  }
  EXPECT_FALSE(requests(whole).error);
  EXPECT_FALSE(requests("").error);
}

TEST(Http1Responses, Bodies) {
  EXPECT_EQ(responses("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").bodies.at(0), "hi");
  EXPECT_EQ(responses("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n").bodies.at(0), "hi");
  const Story until_close = responses("HTTP/1.1 200 OK\r\n\r\nhi there");
  EXPECT_EQ(until_close.bodies.at(0), "hi there");
  EXPECT_FALSE(until_close.heads[0].keep_alive);
  EXPECT_EQ(until_close.text, "head 200;body hi there; end;");
}

TEST(Http1Responses, ThoseWithoutABody) {
  for (const char* status : {"204", "304"}) {
    const Story story = responses(base::cat("HTTP/1.1 ", status, " x\r\nContent-Length: 7\r\n\r\n"));
    ASSERT_FALSE(story.error) << status;
    EXPECT_EQ(story.bodies.at(0), "");
    EXPECT_TRUE(story.heads[0].keep_alive);
  }
  EXPECT_FALSE(responses("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", true).error);
  EXPECT_TRUE(responses("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", false).error);
}

TEST(Http1Responses, InterimOnesArePassedOver) {
  const Story story = responses(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
      "0\r\n\r\n");
  EXPECT_EQ(story.text, "head 200;body ; end;");
  EXPECT_FALSE(story.heads[0].headers.has("link"));
  std::string flood;
  for (int i = 0; i <= Http1Reader::kInterimMax; ++i) flood += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_TRUE(responses(flood).error);
  EXPECT_TRUE(responses("HTTP/1.1 101 Switching Protocols\r\n\r\n").error);
}

TEST(Http1Responses, GarbageIsRefused) {
  for (const char* bad :
       {"\x16\x03\x01", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1 099 x\r\n\r\n", "HTTP/1.1 600 x\r\n\r\n", "HTTP/1.1 200 \x01\r\n\r\n",
        "SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "\r\nHTTP/1.1 200 OK\r\n\r\n"}) {
    const Story story = responses(bad);
    ASSERT_TRUE(story.error) << bad;
    EXPECT_EQ(story.error->kind, ErrorKind::kInvalid) << bad;
    EXPECT_EQ(story.error->code, 0) << bad;
  }
}

TEST(Http1Writers, WhatIsWrittenReadsBack) {
  HttpRequest request{.method = "PATCH", .target = "/x", .headers = {}, .body = "body"};
  request.headers.add("Accept", "a/b");
  request.headers.add("Connection", "close");  // the codec's own business
  request.headers.add("Transfer-Encoding", "gzip");
  request.headers.add("Content-Length", "99");
  std::string bytes;
  append_http1_request(bytes, request, "h:1", request.body.size());
  const Story story = requests(bytes + request.body);
  ASSERT_FALSE(story.error) << story.error->message;
  EXPECT_EQ(story.heads.at(0).headers.size(), 3u);
  EXPECT_EQ(story.heads[0].headers.get("accept"), "a/b");
  EXPECT_EQ(story.heads[0].headers.get("host"), "h:1");
  EXPECT_EQ(story.bodies[0], "body");

  bytes.clear();
  append_http1_response(bytes, 200, {}, {.body = Http1Head::Body::kChunked, .content_length = 0, .keep_alive = true});
  append_chunk_size(bytes, 26);
  bytes += "abcdefghijklmnopqrstuvwxyz";
  bytes += kChunkEnd;
  bytes += kLastChunk;
  append_http1_response(bytes, 404, {}, {.body = Http1Head::Body::kLength, .content_length = 1, .keep_alive = false});
  bytes += "x";
  const Story answers = responses(bytes);
  EXPECT_EQ(answers.text, "head 200;body abcdefghijklmnopqrstuvwxyz; end;head 404;body x; end;");
  EXPECT_FALSE(answers.heads[1].keep_alive);
}

TEST(Http1Fields, NothingThatEndsItsLineIsWritten) {
  HttpRequest request;
  EXPECT_TRUE(check_request(request));
  request.headers.add("x", "a\r\ny: b");
  const auto checked = check_request(request);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message.find("y: b"), std::string::npos);
  EXPECT_FALSE(check_request({.method = "GET", .target = "/a b", .headers = {}, .body = ""}));
  EXPECT_FALSE(check_request({.method = "GET", .target = "x", .headers = {}, .body = ""}));
  EXPECT_FALSE(check_request({.method = "G T", .target = "/", .headers = {}, .body = ""}));
}

// Random edits of valid messages: however the bytes are split, the reader reports the same.
TEST(Http1Reader, SplittingNeverChangesTheStory) {
  std::mt19937 random(11);
  const std::string seeds[] = {
      "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwiki\r\n0\r\nT: v\r\n\r\nGET / "
      "HTTP/1.1\r\nHost: h\r\n\r\n",
      "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbodyGET / HTTP/1.0\r\n\r\n"};
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = seeds[random() % 2];
    for (std::size_t edits = random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % bytes.size();
      if (random() % 2 == 0) {
        bytes.erase(at, 1);
      } else {
        bytes[at] = "\r\n :;,0aZ\x01\xff"[random() % 11];
      }
    }
    requests(bytes);
  }
}

}  // namespace
}  // namespace tidemark::net
