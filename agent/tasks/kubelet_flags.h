// Flags that say where the kubelet of this machine answers, who it must prove to be, and where it has its things: of
// the agent, and of commands on the machine.
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
  // How to reach it; without credentials. kInvalid: what is wrong with which flag.
  Result<net::HttpClientConfig> client(const std::string& node_name) const;
  // As the groups' own paths have it: "/", "/test". kInvalid as above.
  Result<std::string> groups_root() const;
};

}  // namespace tidemark::agent
