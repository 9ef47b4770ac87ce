#include "agent/tasks/kubelet_flags.h"

#include <utility>

#include "agent/tasks/group_path.h"
#include "base/text.h"
#include "net/http.h"

namespace tidemark::agent {

void KubeletFlags::add_to(base::Flags& flags) {
  flags.text("kubelet-endpoint", endpoint, "URL of the kubelet").placeholder("URL");
  flags.text("kubelet-ca-file", ca_file, "CA bundle of the kubelet's certificate (default: the system's)")
      .placeholder("FILE");
  flags
      .text("kubelet-server-name", server_name,
            "name in its certificate (default: the endpoint's; the node's for a loopback address)")
      .placeholder("NAME");
  flags.boolean("kubelet-insecure-skip-tls-verify", insecure,
                "skip certificate verification; exposes the token to any server");
  flags.text("kubelet-cgroup-root", cgroup_root, "the kubelet's own cgroupRoot").placeholder("GROUP");
  flags.text("kubelet-dir", dir, "directory of the kubelet, for its CPU manager policy and its disk")
      .placeholder("DIR");
  flags
      .text("runtime-dir", runtime_dir,
            "directory of the container runtime, for its disk; in a container / is on that disk too")
      .placeholder("DIR");
}

Result<net::HttpClientConfig> KubeletFlags::client(const std::string& node_name) const {
  net::HttpClientConfig out;
  auto url = net::parse_url(endpoint);
  if (!url) return fail(std::move(url).error().within("--kubelet-endpoint"));
  out.url = *std::move(url);
  if (insecure && !ca_file.empty()) {
    return fail(ErrorKind::kInvalid, "--kubelet-ca-file and --kubelet-insecure-skip-tls-verify: one of them");
  }
  out.tls.ca.file = ca_file;
  out.tls.server_name = server_name;
  // A kubelet's certificate names its node, never the loopback address that we use.
  const std::string& host = out.url.host;
  if (server_name.empty() && (host == "localhost" || host == "::1" || host.starts_with("127."))) {
    out.tls.server_name = node_name;
  }
  out.tls.skip_verification = insecure;
  return out;
}

Result<std::string> KubeletFlags::groups_root() const {
  auto root = group_path(cgroup_root);
  if (!root) return fail(std::move(root).error().within("--kubelet-cgroup-root"));
  return base::cat("/", *root);
}

}  // namespace tidemark::agent
