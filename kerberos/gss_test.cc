#include "kerberos/gss.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "net/testing/loop.h"

namespace tidemark::kerberos {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Without a real KDC: tests/yarn/test_kerberos.py has one.
class GssTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = ::testing::TempDir() + "gss-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    setenv("KRB5_CONFIG", (folder + "/krb5.conf").c_str(), 1);
    setenv("KRB5CCNAME", ("FILE:" + folder + "/cache").c_str(), 1);
    write("krb5.conf", "[libdefaults]\n default_realm = EXAMPLE.COM\n dns_lookup_kdc = false\n");
  }
  void write(const std::string& name, std::string_view text) {
    std::ofstream file(folder + "/" + name, std::ios::binary);
    file << text;
    ASSERT_TRUE(file.flush());
  }
  // Abandoned workers use the library: they end before the process does.
  void TearDown() override {
    kdc = Fd();  // the system now refuses the requests
    const auto threads = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}); };
    const auto begin = clock.monotonic();
    while (threads() > 1 && clock.monotonic() - begin < seconds(60)) std::this_thread::yield();
    EXPECT_EQ(threads(), 1);
  }
  // A keytab of tidemark@EXAMPLE.COM with one AES key.
  std::string keytab() {
    const auto number = [](std::uint32_t value, int bytes) {
      std::string out;
      while (bytes-- > 0) out.push_back(static_cast<char>(value >> (8 * bytes)));
      return out;
    };
    const auto text = [&](std::string_view value) {
      return base::cat(number(static_cast<std::uint32_t>(value.size()), 2), value);
    };
    const std::string entry = base::cat(number(1, 2), text("EXAMPLE.COM"), text("tidemark"), number(1, 4), number(0, 4),
                                        number(1, 1), number(18, 2), text(std::string(32, 'k')));
    write("keytab", base::cat("\x05\x02", number(static_cast<std::uint32_t>(entry.size()), 4), entry));
    return folder + "/keytab";
  }
  // A KDC that gets requests and does not answer.
  void begin_silent_kdc() {
    kdc = Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(kdc.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(::getsockname(kdc.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    write("krb5.conf", base::cat("[libdefaults]\n default_realm = EXAMPLE.COM\n dns_lookup_kdc = false\n"
                                 "[realms]\n EXAMPLE.COM = {\n  kdc = 127.0.0.1:",
                                 ntohs(address.sin_port), "\n }\n"));
  }
  template <class T>
  T run(net::Task<T> task) {
    return net::testing::run_task(loop, std::move(task));
  }

  std::string folder;
  Fd kdc;
  base::SystemClock clock;
  net::EventLoop loop{clock};
  base::Registry metrics;
  std::string logged;
  base::Log log{clock,
                {base::LogLevel::kInfo, base::LogFormat::kText, [this](std::string_view line) { logged += line; }}};
};

TEST_F(GssTest, LogsAnInvalidKeytabAtTheStartAndReportsItToEachRequest) {
  MitGss gss(loop, log, {folder + "/none", ""}, {.metrics = &metrics});
  const auto own = run(gss.own_principal(seconds(5)));
  ASSERT_FALSE(own);
  EXPECT_TRUE(own.error().message.starts_with("kerberos: keytab " + folder + "/none: No such file"))
      << own.error().message;
  EXPECT_NE(logged.find("not logged in"), std::string::npos) << logged;
  const std::string text = metrics.text();
  EXPECT_TRUE(text.contains("tidemark_kerberos_failed_logins_total 1\n")) << text;
  EXPECT_TRUE(text.contains("tidemark_kerberos_logins_total 0\n")) << text;
}

TEST_F(GssTest, ReportsAMissingTicketOnTheFirstStepOfAContext) {
  MitGss gss(loop, log, {}, {});
  const auto context = gss.context("rm/h@EXAMPLE.COM");
  EXPECT_EQ(run(context->wrap("x", true)).error().message,
            "kerberos: the first step with rm/h@EXAMPLE.COM is not complete");
  const auto step = run(context->step(""));
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().kind, ErrorKind::kDenied);
  EXPECT_TRUE(step.error().message.contains("there is no ticket: run kinit")) << step.error().message;
  EXPECT_FALSE(run(context->step("token")));
}

TEST_F(GssTest, ASilentKdcDelaysNeitherTheLoopNorTheEnd) {
  begin_silent_kdc();
  const auto begin = clock.monotonic();
  {
    MitGss gss(loop, log, {keytab(), ""}, {.answer_limit = milliseconds(100)});
    const auto own = run(gss.own_principal(seconds(5)));
    ASSERT_FALSE(own);
    EXPECT_EQ(own.error().kind, ErrorKind::kDeadline);
    EXPECT_EQ(own.error().message, "kerberos: a request to a KDC or DNS did not finish within 100ms");
    const auto context = gss.context("rm/h@EXAMPLE.COM");
    EXPECT_EQ(run(context->step("")).error().kind, ErrorKind::kDeadline);
    // Names of addresses have a worker of their own.
    EXPECT_TRUE(run(gss.canonical_name("127.0.0.1")));
  }
  EXPECT_LT(clock.monotonic() - begin, seconds(2));
}

}  // namespace
}  // namespace tidemark::kerberos
