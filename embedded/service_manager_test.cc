// What a service manager's socket hears.
#include "embedded/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "base/fd.h"
#include "base/text.h"
#include "linux/testing/tree.h"

namespace tidemark::embedded {
namespace {

// Listens there as systemd does; "@" is the abstract namespace.
base::Fd listen_at(const std::string& name) {
  base::Fd door(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::memcpy(at.sun_path, name.data(), name.size());
  if (name[0] == '@') at.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  EXPECT_EQ(::bind(door.get(), reinterpret_cast<const sockaddr*>(&at), length), 0);
  return door;
}

std::string heard(const base::Fd& door) {
  char text[100];
  const auto size = ::recv(door.get(), text, sizeof(text), 0);
  return size < 0 ? "nothing" : std::string(text, static_cast<std::size_t>(size));
}

TEST(ServiceManager, SendsReadyOnceToItsSocket) {
  const linux::testing::Tree folder;
  for (const std::string& name : {folder.root() + "/notify", base::cat("@tidemark-test-", ::getpid())}) {
    const base::Fd door = listen_at(name);
    EXPECT_TRUE(tell_ready(name)) << name;
    EXPECT_EQ(heard(door), "READY=1") << name;
    EXPECT_EQ(heard(door), "nothing") << name;
  }
}

TEST(ServiceManager, SendsNothingWithoutSocket) {
  EXPECT_TRUE(tell_ready(""));
}

TEST(ServiceManager, NamesMissingSocket) {
  const linux::testing::Tree folder;
  for (const std::string& name : {folder.root() + "/gone", std::string(200, 'x')}) {
    const auto told = tell_ready(name);
    ASSERT_FALSE(told);
    EXPECT_NE(told.error().message.find(name), std::string::npos);
  }
}

}  // namespace
}  // namespace tidemark::embedded
