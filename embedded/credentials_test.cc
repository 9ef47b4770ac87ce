#include "embedded/credentials.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/testing/clock.h"

namespace tidemark::embedded {
namespace {

class CredentialsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "tidemark-credentials-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern + "/data";
    outer = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(outer); }

  static unsigned mode(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  base::testing::Clock clock;
  std::string outer;
  std::string folder;
};

TEST_F(CredentialsTest, SecretsAreReadableOnlyByOwner) {
  const auto made = open_credentials(folder, "127.0.0.1:0", clock.wall());
  ASSERT_TRUE(made) << made.error().message;
  const auto kubeconfig = write_kubeconfig(folder, *made, "127.0.0.1:6443");
  ASSERT_TRUE(kubeconfig);
  EXPECT_EQ(mode(folder), 0700u);
  for (const char* secret : {"/ca.key", "/admin.token", "/kubeconfig"})
    EXPECT_EQ(mode(folder + secret), 0600u) << secret;
  EXPECT_EQ(made->token.size(), 64u);
}

TEST_F(CredentialsTest, ARestartKeepsAuthorityAndTokenSoThatOldKubeconfigsStillWork) {
  const auto first = open_credentials(folder, "127.0.0.1:0", clock.wall());
  const auto second = open_credentials(folder, "127.0.0.1:0", clock.wall());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->authority.certificate_pem, second->authority.certificate_pem);
  EXPECT_EQ(first->token, second->token);
  EXPECT_NE(first->server.key_pem, second->server.key_pem);
}

TEST_F(CredentialsTest, TheKubeconfigNamesTheServerTheAuthorityAndTheToken) {
  const auto made = open_credentials(folder, "127.0.0.1:0", clock.wall());
  const auto path = write_kubeconfig(folder, *made, "127.0.0.1:4711");
  const Json config = *Json::parse(read(*path));
  const Json& cluster = *config.at("clusters")->as_array().at(0).at("cluster");
  EXPECT_EQ(cluster.text_at("server"), "https://127.0.0.1:4711");
  EXPECT_EQ(base::base64_decode(cluster.text_at("certificate-authority-data")), made->authority.certificate_pem);
  EXPECT_EQ(config.at("users")->as_array().at(0).text_at("user", "token"), made->token);
}

TEST_F(CredentialsTest, RejectsDirectoryWritableByOthers) {
  ASSERT_TRUE(open_credentials(folder, "127.0.0.1:0", clock.wall()));
  ::chmod(folder.c_str(), 0777);
  const auto refused = open_credentials(folder, "127.0.0.1:0", clock.wall());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("chmod go-w " + folder), std::string::npos) << "the message says the remedy";
}

TEST_F(CredentialsTest, RejectsDirectoryOfAnotherUser) {
  if (::geteuid() != 0) return;  // only root can give a folder away
  ASSERT_TRUE(open_credentials(folder, "127.0.0.1:0", clock.wall()));
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::chown(folder.c_str(), kNobody, kNobody), 0);
  const auto refused = open_credentials(folder, "127.0.0.1:0", clock.wall());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("65534"), std::string::npos) << refused.error().message;
}

TEST_F(CredentialsTest, ServerCertificateMatchesListenAddress) {
  const auto good_for = [&](const char* listen, const char* address) {
    const auto made = open_credentials(folder, listen, clock.wall());
    const std::string pem = made ? made->server.certificate_pem : "";
    const std::unique_ptr<BIO, decltype(&BIO_free)> bytes(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                          &BIO_free);
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr), &X509_free);
    return certificate != nullptr && X509_check_ip_asc(certificate.get(), address, 0) == 1;
  };
  EXPECT_TRUE(good_for("192.0.2.7:6443", "192.0.2.7"));
  EXPECT_TRUE(good_for("192.0.2.7:6443", "127.0.0.1"));
  EXPECT_TRUE(good_for("[2001:db8::7]:6443", "2001:db8::7"));
  EXPECT_TRUE(good_for("0.0.0.0:0", "0.0.0.0"));
  EXPECT_TRUE(good_for(":6443", "::"));
  EXPECT_FALSE(good_for("localhost:6443", "192.0.2.7"));
}

// A machine whose clock was ahead when it began, by its hardware's local time, sets it back.
TEST_F(CredentialsTest, CertificatesAreValidAfterClockIsSetBack) {
  const auto made = open_credentials(folder, "127.0.0.1:6443", clock.wall());
  ASSERT_TRUE(made);
  for (const std::string& pem : {made->authority.certificate_pem, made->server.certificate_pem}) {
    const auto facts = net::read_certificate(pem);
    ASSERT_TRUE(facts);
    EXPECT_LE(facts->not_before, clock.wall() + -std::chrono::hours(24 * 300));
    EXPECT_GE(facts->not_after, clock.wall() + std::chrono::hours(24 * 3000));
  }
}

TEST_F(CredentialsTest, CreatesParentDirectories) {
  for (const char* deep : {"/a/b/c", "/d//e/"}) {
    const auto made = open_credentials(outer + deep, "127.0.0.1:0", clock.wall());
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(mode(outer + deep), 0700u);
  }
  EXPECT_EQ(mode(outer + "/a/b"), 0755u);
}

TEST_F(CredentialsTest, NamesDirectoryThatCannotBeCreated) {
  std::ofstream(outer + "/file") << "no folder";
  for (const auto& [wanted, place] : {std::pair(outer + "/file/data", outer + "/file/data"),
                                      std::pair(outer + "/file/more/data", outer + "/file/more")}) {
    const auto refused = open_credentials(wanted, "127.0.0.1:0", clock.wall());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, base::cat("making ", place, ": Not a directory"));
  }
}

}  // namespace
}  // namespace tidemark::embedded
