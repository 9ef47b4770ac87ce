#include "agent/tasks/kubelet_flags.h"

#include <utility>

#include "agent/tasks/group_path.h"
#include "base/text.h"
#include "net/http.h"

namespace tidemark::agent {

void KubeletFlags::add_to(base::Flags& flags) {
  flags.text("kubelet-endpoint", endpoint, "where the kubelet answers").placeholder("URL");
  flags.text("kubelet-ca-file", ca_file, "who signed its certificate; without it the system's authorities count")
      .placeholder("FILE");
  flags
      .text("kubelet-server-name", server_name,
            "the name in its certificate; else the endpoint's, and the node's where that is a loopback")
      .placeholder("NAME");
  flags.boolean("kubelet-insecure-skip-tls-verify", insecure,
                "take any certificate: whoever listens at the endpoint gets the token that it is asked with");
  flags.text("kubelet-cgroup-root", cgroup_root, "the kubelet's own cgroupRoot").placeholder("GROUP");
  flags.text("kubelet-dir", dir, "the kubelet's folder, for the policy of its CPU manager and for its disk")
      .placeholder("DIR");
  flags
      .text("runtime-dir", runtime_dir,
            "the container runtime's folder, for its disk; in a container / lies on that disk too")
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
