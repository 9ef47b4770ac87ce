#include "model/pod_id.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tidemark::model {
namespace {

// As OpenSSL has it, whose bytes are low and high in little-endian order:
//   printf default/web-0 | openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f -macopt size:16 siphash
TEST(PodId, MatchesTheReferenceHash) {
  const PodId id("default", "web-0");  // A61D093303556273 18DD86AAFB38C588
  EXPECT_EQ(id.low, 0x7362550333091da6u);
  EXPECT_EQ(id.high, 0x88c538fbaa86dd18u);
  const PodId none("", "");  // 697E4796AFF38A08 C2FCD4B637E098F6
  EXPECT_EQ(none.low, 0x088af3af96477e69u);
  EXPECT_EQ(none.high, 0xf698e037b6d4fcc2u);
  // What is over after whole words of eight bytes, and texts longer than a name of Kubernetes can be.
  EXPECT_EQ(PodId("abc", "1234").low, 0x14d38710149aa660u);
  EXPECT_EQ(PodId("abc", "12345").low, 0x26c0fb76e4f1ce9au);
  EXPECT_EQ(PodId("kube", std::string(312, 'a')).low, 0x87b506e7301a55dfu);
  EXPECT_EQ(PodId("kube", std::string(313, 'a')).low, 0x0ac66552efc4ed36u);
  EXPECT_EQ(PodId("kube", std::string(1000, 'a')).high, 0xc854379440f7c8b3u);
  for (std::size_t split = 1; split < 20; ++split) {
    const std::string ns(split, 'n');
    EXPECT_NE(PodId(ns, "web-0"), PodId(ns, "web-1"));
    EXPECT_NE(PodId(ns, "web-0"), PodId(ns + "n", "web-0"));
  }
}

TEST(PodId, NamespaceAndNameDoNotRunTogether) {
  EXPECT_NE(PodId("a", "bc"), PodId("ab", "c"));
  EXPECT_NE(PodId("", "a"), PodId("a", ""));
}

TEST(PodId, HasNoCollisionsAmongMany) {
  std::set<PodId> ids;
  std::set<std::uint64_t> halves;
  for (int i = 0; i < 20'000; ++i) {
    const PodId id("spark", "executor-" + std::to_string(i));
    ids.insert(id);
    halves.insert(id.low);
    halves.insert(id.high);
  }
  EXPECT_EQ(ids.size(), 20'000u);
  EXPECT_EQ(halves.size(), 40'000u) << "the halves are independent";
}

}  // namespace
}  // namespace tidemark::model
