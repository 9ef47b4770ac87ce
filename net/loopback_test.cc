#include "net/loopback.h"

#include <gtest/gtest.h>

namespace tidemark::net {
namespace {

TEST(LoopbackHost, AcceptsNamesOfThisMachine) {
  for (const auto* host : {"127.0.0.1:8090", "localhost:8090", "LOCALHOST", "[::1]:8090", "127.0.1.1", "localhost"}) {
    EXPECT_TRUE(is_loopback_host(host)) << host;
  }
}

TEST(LoopbackHost, RefusesNamesThatPointToThisMachine) {
  for (const auto* host : {"", "evil.example", "evil.example:8090", "localhost.evil.example", "127.0.0.1.evil.example",
                           "127.evil", "127.0.0.256", "10.0.0.1", "[::2]", "0.0.0.0", "127.0.0.1@evil.example"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
  }
}

}  // namespace
}  // namespace tidemark::net
