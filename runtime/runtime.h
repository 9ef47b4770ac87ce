// This machine as a node without a kubelet: its Node, the pods that are bound to it as processes, and what an agent
// asks a kubelet for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "linux/cgroup/kill.h"
#include "model/resources.h"
#include "net/loop.h"

namespace tidemark::runtime {

// One field for each flag.
struct RuntimeOptions {
  std::string node_name;
  std::string data_dir;                // for containers/, logs/ and the socket
  std::vector<std::string> shim_argv;  // what starts a shim (runtime/containers.h)
  std::string cgroup_root = "/sys/fs/cgroup";
  std::string proc_root = "/proc";
  std::string group = "/tidemark";      // all groups of ours are below it
  std::int64_t reserved_cpu_milli = 0;  // of the machine, not for pods
  std::int64_t reserved_memory_mib = 0;
  std::int64_t pods_max = 250;
  std::size_t pods_bytes_max = std::size_t{64} << 20;        // of what is kept of them
  std::int64_t log_megabytes = 10;                           // of one file of a container's log
  base::Duration logs_whole_for = std::chrono::seconds(30);  // after a pod has ended for good
  std::int64_t log_files = 5;
  std::int64_t logs_total_megabytes = 10 << 10;
  std::string metrics_address = "127.0.0.1:0";
};

void declare_flags(base::Flags& flags, RuntimeOptions& options);

// What no machine, or not this one, can do; kInvalid, with the flag.
Result<void> check_options(const RuntimeOptions& options);

// Whether this machine lets us have groups for pods, tried; why not, "" where it does. kAlreadyExists: another one has
// them.
Result<std::string> why_no_groups(net::EventLoop& loop, const RuntimeOptions& options, linux::KillRim& killing);

// Where the pods of the node are asked for, as a kubelet's GET /pods.
std::string pods_socket(const RuntimeOptions& options);

class Runtime {
 public:
  // All that is given outlives it. kAlreadyExists: another one has these groups.
  static Result<std::unique_ptr<Runtime>> make(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                               base::Registry& metrics, base::Random random, linux::KillRim& killing,
                                               RuntimeOptions options);
  virtual ~Runtime() = default;

  virtual void start() = 0;
  // Pods go on. Where none is here, nothing of ours stays in the machine's groups.
  virtual net::Task<void> drain() = 0;
};

}  // namespace tidemark::runtime
