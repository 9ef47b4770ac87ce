// What a service manager is told that began this process and waits for a word: systemd with Type=notify, by the
// protocol of sd_notify(3), which is one datagram to the socket that it names in NOTIFY_SOCKET.
#pragma once

#include <string>

#include "base/result.h"

namespace tidemark::embedded {

// That it serves. `socket`: a path, or a name behind an `@` in the abstract namespace; "" where nobody asked.
Result<void> tell_ready(const std::string& socket);

}  // namespace tidemark::embedded
