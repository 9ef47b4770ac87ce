// What listen_on() promises about its socket: files, modes, limits and shortages. The connections themselves are
// connection_test.cc.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "base/testing/clock.h"
#include "net/address.h"
#include "net/connection.h"
#include "net/testing/loop.h"

namespace tidemark::net {
namespace {

using std::chrono::seconds;

class ListenerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/tidemark-net-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    path_ = folder_ + "/s.sock";
  }
  void TearDown() override {
    accepted_.clear();
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }

  Result<std::unique_ptr<Listener>> listen_at(std::string_view address, std::size_t connections_max = 100,
                                              unsigned mode = 0600) {
    return listen_on(
        loop_, log_, address, [this](std::unique_ptr<Connection> c) { accepted_.push_back(std::move(c)); },
        {.tls = nullptr, .connections_max = connections_max}, mode);
  }
  std::string unix_path() const { return "unix:" + path_; }

  // Not yet accepted: the kernel's queue has it.
  Fd knock(const SocketAddress& address) {
    Fd fd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd || ::connect(fd.get(), address.get(), address.size) != 0) return {};
    return fd;
  }
  bool accepted(std::size_t count) {
    return testing::run_real_until(loop_, [&] { return accepted_.size() >= count; });
  }

  base::testing::Clock clock_;
  EventLoop loop_{clock_};
  std::string logged_;
  base::Log log_{clock_,
                 {base::LogLevel::kInfo, base::LogFormat::kText, [this](std::string_view line) { logged_ += line; }}};
  std::vector<std::unique_ptr<Connection>> accepted_;
  std::string folder_;
  std::string path_;
};

TEST_F(ListenerTest, ReportsTheChosenPort) {
  auto listener = listen_at("127.0.0.1:0");
  ASSERT_TRUE(listener);
  EXPECT_NE((*listener)->port(), 0);
  EXPECT_EQ((*listener)->address(), base::cat("127.0.0.1:", (*listener)->port()));
  const auto second = listen_at((*listener)->address());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kAlreadyExists) << second.error().message;
}

TEST_F(ListenerTest, ASocketFileHasItsModeAndGoesWithItsListener) {
  {
    auto listener = listen_at(unix_path(), 100, 0660);
    ASSERT_TRUE(listener) << listener.error().message;
    EXPECT_EQ((*listener)->address(), unix_path());
    struct stat status{};
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0660U);
  }
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(ListenerTest, AStaleSocketFileIsReplaced) {
  {
    const auto address = *unix_address(path_);
    const Fd dead(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(bind(dead.get(), address.get(), address.size), 0);
    ASSERT_EQ(::listen(dead.get(), 1), 0);
  }
  ASSERT_EQ(access(path_.c_str(), F_OK), 0);
  auto listener = listen_at(unix_path());
  ASSERT_TRUE(listener) << listener.error().message;
  const Fd client = knock(*unix_address(path_));
  EXPECT_TRUE(client);
  EXPECT_TRUE(accepted(1));
}

TEST_F(ListenerTest, ASocketThatAnswersIsNotReplaced) {
  auto first = listen_at(unix_path());
  ASSERT_TRUE(first);
  const auto second = listen_at(unix_path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kAlreadyExists);
  EXPECT_TRUE(knock(*unix_address(path_)));
}

TEST_F(ListenerTest, AFileThatIsNoSocketIsNotRemoved) {
  std::ofstream(path_) << "precious";
  const auto listener = listen_at(unix_path());
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().kind, ErrorKind::kAlreadyExists);
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

TEST_F(ListenerTest, TheFileOfASuccessorIsNotRemoved) {
  auto first = listen_at(unix_path());
  ASSERT_TRUE(first);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  std::ofstream(folder_ + "/keeps-the-inode") << "";
  auto second = listen_at(unix_path());
  ASSERT_TRUE(second);
  unlink((folder_ + "/keeps-the-inode").c_str());
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  first->reset();
  EXPECT_TRUE(knock(*unix_address(path_)));
}

TEST_F(ListenerTest, AcceptingPausesAtTheLimitAndGoesOnWhenAConnectionCloses) {
  auto listener = listen_at(unix_path(), 2);
  ASSERT_TRUE(listener);
  const auto address = *unix_address(path_);
  const Fd a = knock(address);
  const Fd b = knock(address);
  const Fd c = knock(address);
  ASSERT_TRUE(accepted(2));
  loop_.run_ready();
  EXPECT_EQ(accepted_.size(), 2U);
  accepted_.erase(accepted_.begin());
  EXPECT_TRUE(accepted(2));
}

TEST_F(ListenerTest, AListenerMayBeDestroyedByItsOwnConnection) {
  std::unique_ptr<Listener> listener;
  int connections = 0;
  listener = *listen_on(loop_, log_, unix_path(), [&](std::unique_ptr<Connection>) {
    ++connections;
    listener.reset();
  });
  const auto address = *unix_address(path_);
  const Fd a = knock(address);
  const Fd b = knock(address);
  EXPECT_TRUE(testing::run_real_until(loop_, [&] { return connections > 0; }));
  loop_.run_ready();
  EXPECT_EQ(connections, 1);
}

TEST_F(ListenerTest, WithoutDescriptorsItPausesAndSaysSo) {
  auto listener = listen_at(unix_path());
  ASSERT_TRUE(listener);
  const Fd client = knock(*unix_address(path_));
  ASSERT_TRUE(client);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int free_number = Fd(dup(client.get())).get();
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(free_number);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  testing::run_real_until(loop_, [&] { return !logged_.empty(); });
  loop_.run_ready();  // returns: it does not spin on the descriptor
  const bool nothing_accepted = accepted_.empty();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(nothing_accepted);
  EXPECT_NE(logged_.find("raise the limit of open files"), std::string::npos) << logged_;
  ASSERT_TRUE(loop_.next_timer());
  testing::run_for(loop_, clock_, seconds(1));
  EXPECT_TRUE(accepted(1));
}

}  // namespace
}  // namespace tidemark::net
