// The server of `tidemark up` on this machine: its address, and the message if it does not run.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::cli {

inline constexpr std::string_view kLocalDataDir = "/var/lib/tidemark";

struct LocalServer {
  std::string data_dir = std::string(kLocalDataDir);  // that of `tidemark up`
  std::string kubeconfig;                             // "": the one in data_dir
  std::string ns = "default";
  base::Duration limit = std::chrono::seconds(30);  // for one answer

  std::string kubeconfig_file() const { return kubeconfig.empty() ? data_dir + "/kubeconfig" : kubeconfig; }
};

// Nothing serves there, as `why` shows: it says what to start.
Error no_server(const Error& why, const LocalServer& server);
// What a call failed with, for people of this machine.
Error explained(Error error, const LocalServer& server);

}  // namespace tidemark::cli
