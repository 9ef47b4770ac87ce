#include "net/tls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "base/testing/clock.h"
#include "net/address.h"
#include "net/connection.h"
#include "net/testing/certificates.h"
#include "net/testing/endpoint.h"
#include "net/testing/loop.h"
#include "net/tls_context.h"

namespace tidemark::net {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Endpoint;
using testing::TestAuthority;

class TlsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    listener_.reset();
    for (const auto& file : files_) unlink(file.c_str());
    if (!folder_.empty()) rmdir(folder_.c_str());
  }

  void serve(const TlsServerConfig& config) {
    auto context = make_tls_server_context(config, clock_);
    ASSERT_TRUE(context) << context.error().message;
    auto listener = listen_on(loop_, log_, "127.0.0.1:0",
                              [this](std::unique_ptr<Connection> c) { accepted_.push_back(std::move(c)); },
                              {.tls = *context, .connections_max = 10'000});
    ASSERT_TRUE(listener) << listener.error().message;
    listener_ = std::move(*listener);
  }

  std::string address() const { return listener_->address(); }

  Result<std::unique_ptr<Connection>> dial(const TlsClientConfig& config, std::string host = "127.0.0.1") {
    auto context = make_tls_client_context(config, clock_);
    if (!context) return std::unexpected(context.error());
    return dial(*context, std::move(host));
  }
  Result<std::unique_ptr<Connection>> dial(std::shared_ptr<TlsClientContext> context, std::string host = "127.0.0.1") {
    const Url url{"https", std::move(host), listener_->port(), ""};
    return testing::run_task(loop_, connect(loop_, nullptr, url, std::move(context), seconds(10)));
  }

  // The message with which a connection is refused.
  std::string refusal(const TlsClientConfig& config, std::string host = "127.0.0.1") {
    auto result = dial(config, std::move(host));
    if (result) return "connected";
    EXPECT_EQ(result.error().kind, ErrorKind::kDenied) << result.error().message;
    return result.error().message;
  }

  std::string file(const std::string& name, const std::string& text) {
    if (folder_.empty()) {
      char folder[] = "/tmp/tidemark-tls-XXXXXX";
      EXPECT_NE(mkdtemp(folder), nullptr);
      folder_ = folder;
    }
    const std::string path = folder_ + "/" + name;
    // A new file under the old name, as every tool that rotates certificates does it.
    std::ofstream(path + ".new") << text;
    EXPECT_EQ(rename((path + ".new").c_str(), path.c_str()), 0);
    files_.push_back(path);
    return path;
  }

  Fd raw_client() {
    auto to = *ip_address("127.0.0.1", listener_->port());
    Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), to.get(), to.size), 0);
    EXPECT_EQ(fcntl(fd.get(), F_SETFL, O_NONBLOCK), 0);
    return fd;
  }
  // Turns the loop until the server closed the connection of `fd`.
  bool closed_by_server(const Fd& fd) {
    const FdWatch wakes = loop_.watch(fd.get(), kReadable, [](std::uint32_t) {});
    return testing::run_real_until(loop_, [&] {
      char space[256];
      const auto count = recv(fd.get(), space, sizeof space, 0);
      return count == 0 || (count < 0 && errno != EAGAIN);
    });
  }

  template <class Condition>
  bool until(Condition&& condition) {
    return testing::run_real_until(loop_, condition);
  }

  base::testing::Clock clock_;
  EventLoop loop_{clock_};
  std::string logged_;
  base::Log log_{clock_,
                 {base::LogLevel::kDebug, base::LogFormat::kText, [this](std::string_view line) { logged_ += line; }}};
  TestAuthority authority_{clock_.wall()};
  std::unique_ptr<Listener> listener_;
  std::vector<std::unique_ptr<Connection>> accepted_;
  std::string folder_;
  std::vector<std::string> files_;
};

TlsClientConfig with(TlsClientConfig config, const IssuedCertificate& issued) {
  config.certificate.text = issued.certificate_pem;
  config.key.text = issued.key_pem;
  return config;
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(TlsTest, MutualTlsGivesTheServerTheClientsIdentity) {
  auto config = authority_.server_config();
  config.client_ca.text = authority_.certificate_pem();
  config.require_client_certificate = true;
  serve(config);
  auto client = dial(with(authority_.client_config(), authority_.client("system:node:n1", "system:nodes")));
  ASSERT_TRUE(client) << client.error().message;
  ASSERT_TRUE(until([&] { return accepted_.size() == 1; }));
  EXPECT_EQ(accepted_[0]->peer().certificate_common_name, "system:node:n1");
  EXPECT_EQ(accepted_[0]->peer().certificate_organizations, std::vector<std::string>{"system:nodes"});
}

TEST_F(TlsTest, AClientWithoutACertificateLearnsThatOneIsExpected) {
  auto config = authority_.server_config();
  config.client_ca.text = authority_.certificate_pem();
  config.require_client_certificate = true;
  serve(config);
  // In TLS 1.3 the client is done before the server looks: the refusal comes with the first read.
  auto client = dial(authority_.client_config());
  ASSERT_TRUE(client) << client.error().message;
  Endpoint endpoint(std::move(*client));
  endpoint.connection->write("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(until([&] { return endpoint.ends == 1; }));
  ASSERT_TRUE(endpoint.error);
  EXPECT_EQ(endpoint.error->kind, ErrorKind::kDenied);
  EXPECT_EQ(endpoint.error->message, address() + " expects a client certificate");
  EXPECT_HAS(logged_, "sent no client certificate");
  EXPECT_TRUE(accepted_.empty());
}

TEST_F(TlsTest, AClientCertificateIsOptionalWhereItIsNotRequired) {
  auto config = authority_.server_config();
  config.client_ca.text = authority_.certificate_pem();
  serve(config);
  ASSERT_TRUE(dial(authority_.client_config()));
  ASSERT_TRUE(until([&] { return accepted_.size() == 1; }));
  EXPECT_FALSE(accepted_[0]->peer().certificate_common_name);
}

TEST_F(TlsTest, AClientCertificateOfAnotherAuthorityIsRefusedByBothSidesInWords) {
  auto config = authority_.server_config();
  config.client_ca.text = authority_.certificate_pem();
  serve(config);
  const TestAuthority stranger(clock_.wall(), "stranger");
  auto client = dial(with(authority_.client_config(), stranger.client("admin")));
  ASSERT_TRUE(client);
  Endpoint endpoint(std::move(*client));
  ASSERT_TRUE(until([&] { return endpoint.ends == 1; }));
  ASSERT_TRUE(endpoint.error);
  EXPECT_EQ(endpoint.error->kind, ErrorKind::kDenied);
  EXPECT_HAS(endpoint.error->message, "does not accept our certificate");
  EXPECT_HAS(logged_, "is not signed by the given CA");
  EXPECT_HAS(logged_, "CN=stranger");
}

TEST_F(TlsTest, AServerCertificateDoesNotServeAsAClientCertificate) {
  auto config = authority_.server_config();
  config.client_ca.text = authority_.certificate_pem();
  serve(config);
  auto client = dial(with(authority_.client_config(), authority_.server()));
  ASSERT_TRUE(client);
  Endpoint endpoint(std::move(*client));
  ASSERT_TRUE(until([&] { return endpoint.ends == 1; }));
  EXPECT_TRUE(endpoint.error);
  EXPECT_TRUE(accepted_.empty());
}

TEST_F(TlsTest, AServerOfAnotherAuthorityIsRefused) {
  serve(authority_.server_config());
  const TestAuthority stranger(clock_.wall(), "stranger");
  const auto message = refusal(stranger.client_config());
  EXPECT_HAS(message, "certificate of " + address() + " is not signed by the given CA");
  EXPECT_HAS(message, "CN=test authority");
  EXPECT_TRUE(accepted_.empty());
}

TEST_F(TlsTest, WithoutACaTheSystemsStoreDecides) {
  serve(authority_.server_config());
  EXPECT_HAS(refusal({}), "is not signed by a CA that this system trusts");
  TlsClientConfig careless;
  careless.skip_verification = true;
  EXPECT_TRUE(dial(careless));
}

TEST_F(TlsTest, ACertificateForAnotherNameIsRefusedWithItsNames) {
  auto issued = authority_.server({"api.example", "*.pods.example"}, {"10.0.0.1"});
  TlsServerConfig config;
  config.certificate.text = issued.certificate_pem;
  config.key.text = issued.key_pem;
  serve(config);
  const auto message = refusal(authority_.client_config());
  EXPECT_HAS(message, "is for \"api.example\", \"*.pods.example\", 10.0.0.1, not for \"127.0.0.1\"");
  EXPECT_HAS(refusal(authority_.client_config(), "localhost"), "not for \"localhost\"");

  auto named = authority_.client_config();
  for (const char* good : {"api.example", "API.example", "a.pods.example", "10.0.0.1"}) {
    named.server_name = good;
    EXPECT_TRUE(dial(named)) << good;
  }
  for (const char* bad : {"example", "a.b.pods.example", "pods.example", "10.0.0.2", "xapi.example"}) {
    named.server_name = bad;
    EXPECT_HAS(refusal(named), "not for");
  }
}

TEST_F(TlsTest, ACommonNameDoesNotProveAName) {
  CertificateRequest request;
  request.common_name = "localhost";
  const auto issued = authority_.issue(request);
  TlsServerConfig config;
  config.certificate.text = issued.certificate_pem;
  config.key.text = issued.key_pem;
  serve(config);
  auto named = authority_.client_config();
  named.server_name = "localhost";
  EXPECT_HAS(refusal(named), "not for \"localhost\"");
}

TEST_F(TlsTest, ValidityIsJudgedByTheGivenClock) {
  CertificateRequest request;
  request.common_name = "short";
  request.ip_addresses = {"127.0.0.1"};
  request.lifetime = hours(1);
  const auto issued = authority_.issue(request);
  TlsServerConfig config;
  config.certificate.text = issued.certificate_pem;
  config.key.text = issued.key_pem;
  serve(config);
  ASSERT_TRUE(dial(authority_.client_config()));
  // A machine whose clock is up to five minutes behind accepts it too.
  clock_.jump_wall(-minutes(4));
  ASSERT_TRUE(dial(authority_.client_config()));
  clock_.jump_wall(-minutes(2));
  EXPECT_HAS(refusal(authority_.client_config()),
             "is valid only from 2025-12-31T23:55:00Z; it is 2025-12-31T23:54:00Z here");
  clock_.jump_wall(minutes(6) + hours(1) + seconds(1));
  EXPECT_HAS(refusal(authority_.client_config()), "certificate of " + address() + " expired at 2026-01-01T01:00:00Z");
}

TEST_F(TlsTest, RotatedFilesAreUsedWithoutARestart) {
  const TestAuthority next(clock_.wall(), "next authority");
  const auto old_server = authority_.server();
  const auto new_server = next.server();
  TlsServerConfig config;
  config.certificate.file = file("tls.crt", old_server.certificate_pem);
  config.key.file = file("tls.key", old_server.key_pem);
  serve(config);
  TlsClientConfig client;
  client.ca.file = file("ca.crt", authority_.certificate_pem());
  const auto context = *make_tls_client_context(client, clock_);
  ASSERT_TRUE(dial(context));

  file("tls.crt", new_server.certificate_pem);
  file("tls.key", new_server.key_pem);
  ASSERT_TRUE(dial(context)) << "files are looked at once a second";
  clock_.advance(seconds(1));
  ASSERT_FALSE(dial(context)) << "the server must show its new certificate";
  file("ca.crt", next.certificate_pem());
  clock_.advance(seconds(1));
  const auto result = dial(context);
  ASSERT_TRUE(result) << result.error().message;
}

TEST_F(TlsTest, MismatchedFilesKeepTheOldOnesInForceAndAreReported) {
  const auto first = authority_.server();
  const auto second = authority_.server();
  TlsServerConfig config;
  config.certificate.file = file("tls.crt", first.certificate_pem);
  config.key.file = file("tls.key", first.key_pem);
  serve(config);
  file("tls.crt", second.certificate_pem);  // its key comes later
  clock_.advance(seconds(1));
  ASSERT_TRUE(dial(authority_.client_config()));
  EXPECT_HAS(logged_, "does not belong to the certificate");
  logged_.clear();
  file("tls.key", second.key_pem);
  clock_.advance(seconds(1));
  ASSERT_TRUE(dial(authority_.client_config()));
  EXPECT_EQ(logged_.find("not used yet"), std::string::npos) << logged_;
  file("tls.key", "gone");
  unlink(config.certificate.file.c_str());
  clock_.advance(seconds(1));
  EXPECT_TRUE(dial(authority_.client_config()));
}

TEST_F(TlsTest, WrongMaterialIsRefusedWithItsPlaceAndWithoutTheKey) {
  const auto a = authority_.server();
  const auto b = authority_.server();
  const auto refused = [&](TlsServerConfig config) {
    auto result = make_tls_server_context(config, clock_);
    EXPECT_FALSE(result);
    const std::string message = result ? "" : result.error().message;
    EXPECT_EQ(message.find("PRIVATE"), std::string::npos);
    EXPECT_EQ(message.find(b.key_pem.substr(40, 20)), std::string::npos);
    return message;
  };
  TlsServerConfig config;
  EXPECT_HAS(refused(config), "needs a certificate and its key");
  config.certificate.text = a.certificate_pem;
  config.key.text = b.key_pem;
  EXPECT_HAS(refused(config), "key given as text does not belong to the certificate given as text");
  config.key = {};
  config.key.file = file("b.key", b.key_pem);
  EXPECT_HAS(refused(config), "key " + config.key.file + " does not belong to");
  config.key.file = "/nonexistent/tls.key";
  EXPECT_HAS(refused(config), "/nonexistent/tls.key: No such file");
  config.key.file = "/proc";
  EXPECT_HAS(refused(config), "/proc is not a file");
  config.key = {};
  config.key.text = a.certificate_pem;
  EXPECT_HAS(refused(config), "holds no private key");
  config.key.text = a.key_pem;
  config.certificate.text = "nothing";
  EXPECT_HAS(refused(config), "holds no certificate");
  config.certificate.text = a.certificate_pem + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  EXPECT_HAS(refused(config), "holds a broken certificate");
  config.certificate.text = a.certificate_pem;
  config.require_client_certificate = true;
  EXPECT_HAS(refused(config), "no client CA is given");
  TlsClientConfig half = authority_.client_config();
  half.certificate.text = a.certificate_pem;
  EXPECT_FALSE(make_tls_client_context(half, clock_));
}

TEST_F(TlsTest, AHandshakeThatStopsInTheMiddleIsClosed) {
  serve(authority_.server_config());
  const Fd fd = raw_client();
  const std::string beginning("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);  // of a ClientHello
  ASSERT_EQ(send(fd.get(), beginning.data(), beginning.size(), MSG_NOSIGNAL), 11);
  loop_.run_ready();
  ASSERT_EQ(shutdown(fd.get(), SHUT_WR), 0);
  EXPECT_TRUE(closed_by_server(fd));
  EXPECT_HAS(logged_, "closed the connection during the TLS handshake");
}

TEST_F(TlsTest, GarbageAndPlainHttpAreRefused) {
  serve(authority_.server_config());
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\nhost: x\r\n\r\n"), std::string(4000, '\0'), std::string(4000, '\xff'),
        std::string("\x16\x03\x01\xff\xff garbage garbage garbage")}) {
    const Fd fd = raw_client();
    ASSERT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    EXPECT_TRUE(closed_by_server(fd));
  }
  EXPECT_HAS(logged_, "does not speak TLS");
  EXPECT_TRUE(dial(authority_.client_config())) << "and the server goes on";
  EXPECT_EQ(accepted_.size(), 1U);
}

TEST_F(TlsTest, ASlowHandshakeIsClosedByItsLimit) {
  serve(authority_.server_config());
  const Fd fd = raw_client();
  ASSERT_TRUE(until([&] { return loop_.next_timer() && *loop_.next_timer() - clock_.monotonic() == seconds(10); }));
  // A byte now and then does not buy more time.
  const std::string beginning("\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 9);
  for (std::size_t i = 0; i < beginning.size(); ++i) {
    ASSERT_EQ(send(fd.get(), &beginning[i], 1, MSG_NOSIGNAL), 1);
    testing::run_for(loop_, clock_, seconds(1));
  }
  EXPECT_EQ(logged_, "");
  testing::run_for(loop_, clock_, seconds(1));
  EXPECT_HAS(logged_, "did not finish the TLS handshake within 10s");
  EXPECT_TRUE(closed_by_server(fd));
}

TEST_F(TlsTest, AServerThatDoesNotSpeakTlsIsNamed) {
  auto listener = listen_on(loop_, log_, "127.0.0.1:0", [](std::unique_ptr<Connection> c) {
    c->write("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
    c->close_after_write();
  });
  listener_ = std::move(*listener);
  const auto result = dial(authority_.client_config());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(result.error().message, address() + " does not speak TLS; is this its https port?");
}

TEST_F(TlsTest, AServerThatSaysNothingEndsWithTheConnectLimit) {
  auto listener = listen_on(loop_, log_, "127.0.0.1:0",
                            [this](std::unique_ptr<Connection> c) { accepted_.push_back(std::move(c)); });
  listener_ = std::move(*listener);
  const Url url{"https", "127.0.0.1", listener_->port(), ""};
  const auto context = *make_tls_client_context(authority_.client_config(), clock_);
  const auto result = testing::run_task(loop_, clock_, connect(loop_, nullptr, url, context, seconds(7)));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kDeadline);
}

TEST_F(TlsTest, CertificatesTakeNoNamesThatCouldMeanSomethingElse) {
  const auto authority = *make_certificate_authority("x", clock_.wall(), hours(1));
  const auto refused = [&](CertificateRequest request) {
    return !issue_certificate(authority, request, clock_.wall()).has_value();
  };
  CertificateRequest request;
  request.common_name = "ok";
  EXPECT_FALSE(refused(request));
  request.dns_names = {std::string("a\0b", 3)};
  EXPECT_TRUE(refused(request));
  request.dns_names = {""};
  EXPECT_TRUE(refused(request));
  request.dns_names = {};
  request.ip_addresses = {"127.0.0.1.example"};
  EXPECT_TRUE(refused(request));
  request.ip_addresses = {"::1", "fd00::1"};
  EXPECT_FALSE(refused(request));
  request.common_name = std::string(65, 'x');
  EXPECT_TRUE(refused(request));
  EXPECT_FALSE(issue_certificate({"", ""}, {}, clock_.wall()));
}

TEST_F(TlsTest, ACertificateIsReadAndHeldToItsAuthority) {
  const auto authority = *make_certificate_authority("x", clock_.wall(), hours(100));
  CertificateRequest request;
  request.common_name = "ok";
  request.dns_names = {"a.example", "b.example"};
  request.ip_addresses = {"127.0.0.1", "fd00::1"};
  request.lifetime = hours(2);
  const auto issued = *issue_certificate(authority, request, clock_.wall());
  const auto facts = read_certificate(issued.certificate_pem);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->dns_names, request.dns_names);
  EXPECT_EQ(facts->ip_addresses, request.ip_addresses);
  EXPECT_LE(facts->not_before, clock_.wall());
  EXPECT_EQ(facts->not_after.since_epoch, std::chrono::floor<seconds>(clock_.wall().since_epoch + hours(2)));
  EXPECT_TRUE(check_certificate(issued, authority.certificate_pem));

  const auto other = *make_certificate_authority("x", clock_.wall(), hours(100));
  EXPECT_FALSE(check_certificate(issued, other.certificate_pem));
  const auto next = *issue_certificate(authority, request, clock_.wall());
  EXPECT_FALSE(check_certificate({issued.certificate_pem, next.key_pem}, authority.certificate_pem));
  EXPECT_FALSE(check_certificate({"", issued.key_pem}, authority.certificate_pem));
  EXPECT_FALSE(read_certificate("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"));
}

TEST_F(TlsTest, AServerTakesAnotherCertificateFromTheNextConnectionOn) {
  const auto context = *make_tls_server_context(authority_.server_config(), clock_);
  listener_ =
      *listen_on(loop_, log_, "127.0.0.1:0",
                 [this](std::unique_ptr<Connection> c) { accepted_.push_back(std::move(c)); }, {.tls = context});
  const TestAuthority next(clock_.wall(), "the next authority");
  EXPECT_TRUE(dial(authority_.client_config()));
  EXPECT_FALSE(dial(next.client_config()));
  const auto issued = next.server();
  EXPECT_FALSE(context->use(issued.certificate_pem, authority_.server().key_pem));  // another's key
  EXPECT_TRUE(dial(authority_.client_config()));
  ASSERT_TRUE(context->use(issued.certificate_pem, issued.key_pem));
  EXPECT_TRUE(dial(next.client_config()));
  EXPECT_FALSE(dial(authority_.client_config()));
  // A client that trusts both is served before and after: this is how an authority is replaced without a gap.
  TlsClientConfig both;
  both.ca.text = authority_.certificate_pem() + next.certificate_pem();
  EXPECT_TRUE(dial(both));
}

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kHeapIsMeasurable = false;
#else
constexpr bool kHeapIsMeasurable = true;
#endif

TEST_F(TlsTest, AnIdleConnectionIsSmall) {
  if (!kHeapIsMeasurable) GTEST_SKIP() << "sanitizers have their own heap";
  constexpr std::size_t kPairs = 200;
  constexpr std::size_t kBytesMax = 55 * 1024;  // a connection, ours; each pair has two
  auto config = authority_.server_config();
  config.client_ca.text = authority_.certificate_pem();
  serve(config);
  const auto context = *make_tls_client_context(
      with(authority_.client_config(), authority_.client("system:node:n1", "system:nodes")), clock_);
  std::vector<std::unique_ptr<Endpoint>> ends;
  const auto add_pair = [&] {
    auto client = dial(context);
    ASSERT_TRUE(client) << client.error().message;
    ASSERT_TRUE(until([&] { return !accepted_.empty(); }));
    auto& ours = *ends.emplace_back(std::make_unique<Endpoint>(std::move(*client)));
    auto& theirs = *ends.emplace_back(std::make_unique<Endpoint>(std::move(accepted_.back())));
    accepted_.pop_back();
    ours.connection->write(std::string(10'000, 'x'));
    theirs.connection->write(std::string(10'000, 'x'));
    ASSERT_TRUE(until([&] { return ours.got.size() == 10'000 && theirs.got.size() == 10'000; }));
    ours.got = theirs.got = std::string();
  };
  add_pair();  // what is made once
  const auto before = mallinfo2();
  for (std::size_t i = 0; i < kPairs; ++i) ASSERT_NO_FATAL_FAILURE(add_pair());
  const auto after = mallinfo2();
  const std::size_t each = (after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) / (2 * kPairs);
  RecordProperty("bytes_per_connection", static_cast<int>(each));
  std::printf("an idle TLS connection takes %zu bytes\n", each);
  EXPECT_LE(each, kBytesMax);
}

}  // namespace
}  // namespace tidemark::net
