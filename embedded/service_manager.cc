#include "embedded/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/fd.h"

namespace tidemark::embedded {

Result<void> tell_ready(const std::string& socket) {
  if (socket.empty()) return {};
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (socket.size() >= sizeof(to.sun_path)) {
    return fail(ErrorKind::kInvalid, "NOTIFY_SOCKET ", socket, ": an address has room for ", sizeof(to.sun_path) - 1);
  }
  std::memcpy(to.sun_path, socket.data(), socket.size());
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
  const base::Fd door(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  constexpr std::string_view kReady = "READY=1";
  if (!door || ::sendto(door.get(), kReady.data(), kReady.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to),
                        length) < 0) {
    return base::fail_errno(errno, base::cat("tell ", socket, " (NOTIFY_SOCKET) that it serves"));
  }
  return {};
}

}  // namespace tidemark::embedded
