// Credential plugins: a kubeconfig names a program, and the program prints a token or a client certificate
// (client.authentication.k8s.io/v1 and v1beta1). EKS, GKE and AKS write such kubeconfigs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/task.h"

namespace tidemark::kube {

inline constexpr std::size_t kPluginOutputBytesMax = 1024 * 1024;
// Longest run of a plugin, and of one that may ask the user.
inline constexpr base::Duration kPluginLimit = std::chrono::minutes(1);
inline constexpr base::Duration kInteractivePluginLimit = std::chrono::minutes(10);

enum class InteractiveMode : std::uint8_t { kNever, kIfAvailable, kAlways };

// `users[].user.exec` of a kubeconfig.
struct CredentialPlugin {
  std::string user;         // name of the kubeconfig's user entry
  std::string api_version;  // the plugin must print the same
  std::string command;      // a path, or a name that PATH has
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // added to the environment of this process
  std::string install_hint;
  InteractiveMode interactive = InteractiveMode::kIfAvailable;
  std::string cluster;  // JSON for spec.cluster; "": provideClusterInfo is not set
};

struct Credential {
  std::string token;            // "" without one
  std::string certificate_pem;  // both or neither
  std::string key_pem;
  std::optional<base::WallTime> expires;  // nullopt: valid until the server refuses it
};

struct PluginCommand {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> env;
  bool interactive = false;  // the program gets our standard input and standard error
};

struct PluginEnd {
  int exit_code = 0;
  int signal = 0;  // 0: it exited
  std::string output;
  std::string errors;  // the end of its standard error; "" if it is interactive
};

// Runs programs. `main/` passes system_plugin_host(); `run` is empty in a component that must not start programs.
struct PluginHost {
  bool terminal = false;  // standard input is a terminal
  // Fails if the program cannot start, prints too much, or is not done within `limit`; then it is killed.
  std::function<net::Task<Result<PluginEnd>>(PluginCommand command, base::Duration limit)> run{};
};

// Fails if the plugin needs a terminal and there is none.
Result<PluginCommand> plugin_command(const CredentialPlugin& plugin, bool terminal);

// The credential in what the plugin printed. The error never shows the output, which may hold a token.
Result<Credential> read_credential(const CredentialPlugin& plugin, const PluginEnd& end);

// Adds the plugin and its install hint to the reason why it gave no credential. Always kDenied: callers take kNotFound
// and kUnavailable for answers of the API server.
Error plugin_failed(const CredentialPlugin& plugin, const Error& why);

}  // namespace tidemark::kube
