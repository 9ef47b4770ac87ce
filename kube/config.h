// Where the API server is and who we are: from a kubeconfig (YAML or JSON) or from what a pod finds in its own file
// system.
//
// Files are reached only through `Files`, so that parsing is pure. Certificates given as files are handed on as files:
// net reads them again when they change. So does TokenFile below with a token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/credential_plugin.h"
#include "net/http_client.h"

namespace tidemark::kube {

inline constexpr std::size_t kKubeconfigBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kTokenBytesMax = 64 * 1024;
inline constexpr base::Duration kTokenLookInterval = std::chrono::seconds(1);

// Enough to see that a file was replaced, also by a symbolic link that moved (how the kubelet rotates a token).
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;
  std::int64_t size_bytes = 0;
  auto operator<=>(const FileStamp&) const = default;
};

struct Files {
  // kNotFound where there is none; kExhausted past bytes_max; kIo otherwise.
  std::function<Result<std::string>(const std::string& path, std::size_t bytes_max)> read;
  std::function<std::optional<FileStamp>(const std::string& path)> stamp;
};
// The machine's files.
Files system_files();

// A bearer token in a file that is replaced from time to time. Looked at when it is asked for, at most once in
// kTokenLookInterval. A file that cannot be read leaves the last good token in use: the server will say when it is too
// old.
class TokenFile {
 public:
  // Fails when there is no token to begin with.
  static Result<std::shared_ptr<TokenFile>> open(std::string path, Files files, const base::Clock& clock);

  std::string token();
  const std::string& path() const { return path_; }
  // What went wrong at the last look; nullopt when it went well.
  const std::optional<Error>& problem() const { return problem_; }
  std::uint64_t reads() const { return reads_; }  // how often the content was taken over

 private:
  TokenFile(std::string path, Files files, const base::Clock& clock);
  Result<void> look();
  std::string path_;
  Files files_;
  const base::Clock& clock_;
  std::string token_;
  std::optional<FileStamp> stamp_;
  base::MonotonicTime looked_at_;
  std::optional<Error> problem_;
  std::uint64_t reads_ = 0;
};

struct ClusterConfig {
  net::HttpClientConfig http;
  std::function<std::string()> bearer;     // never empty as a function; answers "" where no token is used
  std::shared_ptr<TokenFile> token_file;   // null unless the token comes from a file
  std::optional<CredentialPlugin> plugin;  // credentials come from it (kube/plugin_transport.h)
  std::string default_namespace = "default";
  std::string source;  // "kubeconfig /x (context y)", "in-cluster": for logs
};

// One kubeconfig's text, or several merged as kubectl merges them: the first file that names a cluster, user, context
// or current-context wins. `context` empty: the current one. Relative paths resolve against the folder of the file that
// says them. What is known and not done here (auth-provider, proxy-url, impersonation, passwords) is kUnsupported when
// the chosen context needs it, with the user or cluster named; unknown keys are ignored, as kubectl does. A token
// outranks `exec`, as in kubectl.
struct KubeconfigText {
  std::string path;
  std::string text;
};
Result<ClusterConfig> parse_kubeconfig(std::span<const KubeconfigText> texts, std::string_view context,
                                       const Files& files, const base::Clock& clock);

// What main/ found outside.
struct ConfigRequest {
  std::string kubeconfig;       // --kubeconfig; a file that is missing is an error
  std::string context;          // --context
  std::string kubeconfig_list;  // $KUBECONFIG, separated by colons; missing ones are passed over
  std::string home;             // $HOME, for ~/.kube/config
  std::string service_host;     // $KUBERNETES_SERVICE_HOST
  std::string service_port;     // $KUBERNETES_SERVICE_PORT
  std::string root;             // stands before /var/run/secrets/…; "" in production
};

// In this order: the kubeconfig named, $KUBECONFIG, in-cluster where a service host is set, ~/.kube/config. The error
// lists what was tried.
Result<ClusterConfig> find_config(const ConfigRequest& request, const Files& files, const base::Clock& clock);

Result<ClusterConfig> in_cluster_config(const ConfigRequest& request, const Files& files, const base::Clock& clock);

}  // namespace tidemark::kube
