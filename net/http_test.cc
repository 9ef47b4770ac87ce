#include "net/http.h"

#include <gtest/gtest.h>

#include <random>

namespace tidemark::net {
namespace {

TEST(Headers, NamesAreLowerCaseAndKeepTheirOrder) {
  Headers headers;
  headers.add("Content-Type", "text/plain");
  headers.add("X-A", "1");
  headers.add("x-a", "2");
  EXPECT_EQ(headers.get("content-type"), "text/plain");
  EXPECT_EQ(headers.get("x-a"), "1");
  EXPECT_EQ(headers.size(), 3u);
  headers.set("X-A", "3");
  EXPECT_EQ(headers.get("x-a"), "3");
  EXPECT_EQ(headers.size(), 2u);
  EXPECT_FALSE(headers.has("x-b"));
  EXPECT_EQ(headers.get("x-b"), "");
}

TEST(Percent, EveryByteComesBack) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  EXPECT_EQ(percent_decode(percent_encode(all)), all);
  EXPECT_EQ(percent_encode("a b/c~"), "a%20b%2Fc~");
}

TEST(Percent, BrokenEscapesAreRefused) {
  for (const char* broken : {"%", "%2", "%2g", "%g2", "a%"}) EXPECT_FALSE(percent_decode(broken)) << broken;
  EXPECT_EQ(percent_decode("a+b"), "a+b");
  EXPECT_EQ(percent_decode("a+b", true), "a b");
}

TEST(Target, PathAndQueryAreDecodedApart) {
  const auto target = parse_target("/api/v1/pods?labelSelector=a%3Db%2Cc&watch&x=1+2&&limit=500");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/api/v1/pods");
  EXPECT_EQ(target->get("labelSelector"), "a=b,c");
  EXPECT_TRUE(target->has("watch"));
  EXPECT_EQ(target->get("watch"), "");
  EXPECT_EQ(target->get("x"), "1 2");
  EXPECT_EQ(target->query.size(), 4u);
  EXPECT_FALSE(target->has("absent"));
}

TEST(Target, WhatCannotBeOneIsRefused) {
  for (const char* bad :
       {"", "pods", "*", "http://h/x", "/a b", "/a%zz", "/a?x=%1", "/a#frag", "/a\tb", "/\x7f", "/\xc3\xa4"}) {
    EXPECT_FALSE(parse_target(bad)) << bad;
  }
}

TEST(Url, FormsThatAreUnderstood) {
  const auto plain = parse_url("https://Kube.Example:6443/prefix/");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->scheme, "https");
  EXPECT_EQ(plain->host, "kube.example");
  EXPECT_EQ(plain->port, 6443);
  EXPECT_EQ(plain->path, "/prefix");

  EXPECT_EQ(parse_url("http://a")->port, 80);
  EXPECT_EQ(parse_url("https://a/")->port, 443);
  EXPECT_EQ(parse_url("https://a/")->path, "");
  EXPECT_EQ(parse_url("http://[::1]:8080")->host, "::1");
  EXPECT_EQ(parse_url("http://[::1]:8080")->port, 8080);
  EXPECT_EQ(parse_url("unix:/run/x.sock")->host, "/run/x.sock");
  EXPECT_EQ(parse_url("unix:///run/x.sock")->host, "/run/x.sock");
}

TEST(Url, FormsThatAreRefusedNameTheReason) {
  for (const char* bad : {"",
                          "a",
                          "ftp://a",
                          "http:a",
                          "http:/a",
                          "http://",
                          "http://:80",
                          "http://a:",
                          "http://a:0",
                          "http://a:65536",
                          "http://a:+1",
                          "http://a b",
                          "http://a/?q",
                          "http://a/#f",
                          "http://u:p@a",
                          "http://[::1",
                          "http://[]:1",
                          "http://[a.b]",
                          "http://[::1]x",
                          "unix:",
                          "unix:relative",
                          "unix://host/x",
                          "unix:/",
                          "http://a_b\xc3\xa4",
                          "http://a%20b"}) {
    const auto url = parse_url(bad);
    ASSERT_FALSE(url) << bad;
    EXPECT_EQ(url.error().kind, ErrorKind::kInvalid);
    EXPECT_NE(url.error().message.find("URL"), std::string::npos);
  }
}

// What was accepted is stable: written out again it parses to the same parts.
TEST(Url, RandomTextNeverBreaksTheParser) {
  std::mt19937 random(7);
  constexpr std::string_view kAlphabet = "htps:/unix[]@?#%.a1:-";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = round % 2 == 0 ? "http://" : "";
    for (std::size_t i = random() % 24; i > 0; --i) text.push_back(kAlphabet[random() % kAlphabet.size()]);
    const auto url = parse_url(text);
    if (!url || url->scheme == "unix") continue;
    const bool six = url->host.find(':') != std::string::npos;
    const auto again = parse_url(base::cat(url->scheme, "://", six ? "[" : "", url->host, six ? "]" : "", ":",
                                           static_cast<int>(url->port), url->path));
    ASSERT_TRUE(again) << text;
    EXPECT_EQ(again->host, url->host) << text;
    EXPECT_EQ(again->port, url->port) << text;
    EXPECT_EQ(again->path, url->path) << text;
  }
}

}  // namespace
}  // namespace tidemark::net
