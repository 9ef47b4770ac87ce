// The copilot of one node: lists, limits and ends the YARN containers on it. Replaces Koordinator's yarn-copilot with
// the same flags, socket and API.
//
//   agent, curl ──HTTP over a unix socket──▶ api ──▶ container_list ──REST──▶ NodeManager
//                                              └───▶ ends, machine ──▶ groups and processes
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "hadoop/kerberos.h"
#include "hadoop/resource_manager.h"
#include "linux/cgroup/kill.h"
#include "model/audit_line.h"
#include "net/loop.h"
#include "net/worker.h"
#include "yarn_copilot/work_labels.h"

namespace tidemark::yarn_copilot {

// Cgroup of offline work with the cgroupfs driver of the kubelet, and the one used instead with the systemd driver.
inline constexpr std::string_view kDefaultGroup = "kubepods/besteffort/hadoop-yarn";
inline constexpr std::string_view kSystemdGroup = "kubepods.slice/kubepods-besteffort.slice/hadoop-yarn";

struct CopilotOptions {
  std::string socket = "/var/run/yarn-copilot/yarn-copilot.sock";
  std::string group = std::string(kDefaultGroup);
  std::string node_manager = "localhost:8042";
  std::string node_manager_principal = "HTTP/_HOST";  // of its web address; _HOST: this machine
  std::string node_manager_ca;                        // file; "": the system's
  base::Duration node_manager_limit = std::chrono::seconds(3);
  base::Duration list_age = std::chrono::milliseconds(500);
  std::vector<std::string> users;         // uids beside root and our own
  std::vector<std::string> local_dirs;    // of the NodeManager; empty: local usage is not measured
  std::int64_t local_dirs_limit_mib = 0;  // 0: no limit
  base::Duration local_dirs_grace = std::chrono::seconds(10);
  std::int64_t disk_read_mib = 0;  // a second, from each of their disks, all containers together; 0: no limit
  std::int64_t disk_write_mib = 0;
  base::Duration permit_patience = std::chrono::seconds(30);      // no flag: how long to wait for the node's agent
  base::Duration ends_interval = std::chrono::milliseconds(700);  // no flag: interval of checks for failed containers
  bool adopt = false;                                             // make cgroups for containers that have none
  std::string cgroup_root = "/sys/fs/cgroup";
  std::string proc_root = "/proc";
  std::string sys_root = "/sys";
  std::string hadoop_conf_dir;  // addresses of ResourceManagers; "": applications are unknown
  std::string user;             // user of the calls; "": not sent, as in Koordinator's operator
  hadoop::KerberosOptions kerberos;
  std::string cluster;  // cluster in that directory; "": the one of yarn-site.xml
  std::vector<QueueClass> queues;
  std::int64_t millicores_per_vcore = 1000;
  bool sync_memory_cgroup = false;
  base::Duration sync_cgroup_period = std::chrono::seconds(10);
  std::string metrics_address = "0";
};

void declare_flags(base::Flags& flags, CopilotOptions& options);

class YarnCopilot {
 public:
  struct Rim {
    linux::KillRim& killing;
    net::WorkerPool& workers;  // for host name lookups
    std::function<void(model::AuditLine)> audit;
    std::optional<hadoop::RmCluster> managers{};  // of the node's cluster
    std::uint64_t seed = 0;
  };
  // Listens when it is made. kInvalid: an invalid option.
  static Result<std::unique_ptr<YarnCopilot>> make(net::EventLoop& loop, Rim rim, base::Log log,
                                                   base::Registry& metrics, CopilotOptions options);
  virtual ~YarnCopilot() = default;

  virtual std::string not_ready() const = 0;        // "" if ready, else the missing part
  virtual std::string metrics_address() const = 0;  // with the actual port; "" if not served
  virtual net::Task<void> drain() = 0;
};

}  // namespace tidemark::yarn_copilot
