#include "kerberos/tickets.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>
#include <string_view>

#include "kerberos/errors.h"

namespace tidemark::kerberos {
namespace {

// Without a KDC: what is wrong before one is asked. The rest is in tests/yarn/test_kerberos.py.
class TicketsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = ::testing::TempDir() + "tickets-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    write("krb5.conf", "[libdefaults]\n default_realm = EXAMPLE.COM\n dns_lookup_kdc = false\n");
    setenv("KRB5_CONFIG", (folder + "/krb5.conf").c_str(), 1);
    setenv("KRB5CCNAME", ("FILE:" + folder + "/cache").c_str(), 1);
  }
  void write(const std::string& name, std::string_view text) {
    std::ofstream file(folder + "/" + name, std::ios::binary);
    file << text;
    ASSERT_TRUE(file.flush());
  }
  std::string why_not(const hadoop::KerberosOptions& options) {
    const auto got = log_in(options);
    return got ? "" : got.error().message;
  }
  std::string folder;
};

TEST_F(TicketsTest, NamesAMissingKeytab) {
  EXPECT_EQ(why_not({folder + "/none", ""}),
            "keytab " + folder +
                "/none: No such file or directory; --kerberos-keytab is to be a file that this process "
                "may read");
}

TEST_F(TicketsTest, RejectsAFileThatIsNoKeytab) {
  write("text", "of no keys");
  EXPECT_NE(why_not({folder + "/text", ""}).find("keytab " + folder + "/text"), std::string::npos);
  EXPECT_NE(why_not({folder + "/text", ""}).find("nsupported key table format"), std::string::npos);
  write("empty", "\x05\x02");
  EXPECT_EQ(why_not({folder + "/empty", ""}), "keytab " + folder + "/empty has no keys");
}

TEST_F(TicketsTest, ExplainsHowToGetATicket) {
  EXPECT_NE(why_not({}).find("ticket cache FILE:" + folder + "/cache"), std::string::npos);
  EXPECT_NE(why_not({}).find("run kinit, or give --kerberos-keytab"), std::string::npos);
}

TEST(ErrorsTest, AddHintsToKnownErrors) {
  EXPECT_EQ(error_of(0, "said").message, "said");
  EXPECT_NE(what_helps(-1765328347), "");  // KRB5KRB_AP_ERR_SKEW
}

TEST(NamesTest, ReplaceOnlyTheHostPlaceholder) {
  const std::string own = with_own_host("HTTP/_HOST");
  EXPECT_TRUE(own.starts_with("HTTP/"));
  EXPECT_GT(own.size(), std::string("HTTP/").size());
  EXPECT_EQ(with_own_host("HTTP/_HOST@R"), own + "@R");
  for (const std::string other : {"HTTP/_HOSTS@R", "rm/host@R", "_HOST@R"}) EXPECT_EQ(with_own_host(other), other);
}

TEST(NamesTest, FollowReverseLookup) {
  EXPECT_EQ(canonical_name_of("127.0.0.1"), "localhost");
  EXPECT_EQ(canonical_name_of("no address"), "no address");
}

}  // namespace
}  // namespace tidemark::kerberos
