// Flags for the kubelet of this machine: its endpoint, its expected certificate and its directories. For the agent and
// for local commands.
#pragma once

#include <string>

#include "base/flags.h"
#include "base/result.h"
#include "net/http_client.h"

namespace tidemark::agent {

struct KubeletFlags {
  std::string endpoint = "https://127.0.0.1:10250";
  std::string ca_file;
  std::string server_name;
  bool insecure = false;
  std::string cgroup_root = "/";
  std::string dir = "/var/lib/kubelet";
  std::string runtime_dir = "/var/lib/containerd";

  void add_to(base::Flags& flags);
  // The client configuration, without credentials. kInvalid: names the flag and the error.
  Result<net::HttpClientConfig> client(const std::string& node_name) const;
  // As paths of groups have it: "/", "/test". kInvalid as above.
  Result<std::string> groups_root() const;
};

}  // namespace tidemark::agent
