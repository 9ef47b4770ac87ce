// Reports readiness to the service manager that started this process and waits for it: systemd with Type=notify, by the
// protocol of sd_notify(3), which is one datagram to the socket in NOTIFY_SOCKET.
#pragma once

#include <string>

#include "base/result.h"

namespace tidemark::embedded {

// Reports that the process serves. `socket`: a path, or `@` and a name in the abstract namespace; "" sends nothing.
Result<void> tell_ready(const std::string& socket);

}  // namespace tidemark::embedded
