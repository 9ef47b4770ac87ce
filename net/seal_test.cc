#include "net/seal.h"

#include <gtest/gtest.h>

#include <string>

namespace tidemark::net {
namespace {

TEST(Seal, OpensWhatTheSameSecretSealed) {
  const Sealer one("secret");
  const Sealer other("secret");
  for (const std::string& text : {std::string(), std::string("a"), std::string(3000, 'x'), std::string("\0\xff", 2)}) {
    const auto sealed = one.seal(text, "login");
    ASSERT_TRUE(sealed);
    EXPECT_EQ(other.open(*sealed, "login"), text);
    EXPECT_EQ(sealed->find_first_of("+/=; "), std::string::npos) << "fit for a cookie";
  }
  EXPECT_NE(*one.seal("a", "login"), *one.seal("a", "login"));
}

TEST(Seal, RefusesAnotherSecretAnotherPurposeAndEachChange) {
  const Sealer sealer("secret");
  const std::string sealed = *sealer.seal("text", "login");
  EXPECT_FALSE(Sealer("other").open(sealed, "login"));
  EXPECT_FALSE(sealer.open(sealed, "logout"));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    const auto opened = sealer.open(changed, "login");
    // The last character may have bits that no byte uses.
    if (opened) EXPECT_EQ(i, sealed.size() - 1);
    EXPECT_FALSE(sealer.open(sealed.substr(0, i), "login")) << i;
  }
  for (const char* text : {"", "A", "====", "%%%%", "a b"}) EXPECT_FALSE(sealer.open(text, "login")) << text;
}

TEST(Seal, KnowsSha256) {
  EXPECT_EQ(sha256("abc").substr(0, 4), "\xba\x78\x16\xbf");
  constexpr std::string_view kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(Sha256().add("abc").hex(), kOfAbc);
  EXPECT_EQ(Sha256().add("a").add("").add("bc").hex(), kOfAbc);
}

}  // namespace
}  // namespace tidemark::net
