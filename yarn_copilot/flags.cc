#include <span>

#include "base/text.h"
#include "yarn_copilot/ends.h"
#include "yarn_copilot/yarn_copilot.h"

namespace tidemark::yarn_copilot {
namespace {

constexpr std::int64_t kDiskMibMax = 1'000'000;

Result<std::vector<std::string>> read_folders(std::span<const std::string> texts) {
  for (const std::string& each : texts) {
    if (!each.starts_with('/')) {
      return fail(ErrorKind::kInvalid, "wanted absolute paths, found ", base::in_quotes(each));
    }
  }
  return std::vector<std::string>(texts.begin(), texts.end());
}

}  // namespace

void declare_flags(base::Flags& flags, CopilotOptions& options) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  flags.group("NodeManager");
  flags
      .text("node-manager-endpoint", options.node_manager,
            "the NodeManager's web address (yarn.nodemanager.webapp.address); https:// if it serves TLS")
      .placeholder("HOST:PORT");
  flags
      .text("node-manager-ca-file", options.node_manager_ca,
            "certificates that its own is checked against; empty: those of the system")
      .placeholder("FILE");
  flags
      .text("node-manager-principal", options.node_manager_principal,
            "principal of its web address with Kerberos (hadoop.http.authentication.kerberos.principal), "
            "such as HTTP/host@EXAMPLE.COM; _HOST: this machine")
      .placeholder("PRINCIPAL");
  flags.duration("node-manager-timeout", options.node_manager_limit, milliseconds(100), seconds(60),
                 "timeout of a request to it");
  flags.duration("list-age", options.list_age, milliseconds(0), seconds(60),
                 "how long a list of containers is reused for all clients");
  flags.group("Applications");
  flags
      .text("hadoop-conf-dir", options.hadoop_conf_dir,
            "folder with yarn-site.xml: each application that has a container here is asked for at its "
            "ResourceManager, once; else $HADOOP_CONF_DIR. Without one, tags and queues are not known")
      .placeholder("DIR");
  flags
      .text("yarn-cluster", options.cluster,
            "of several in that folder: CLUSTER.yarn-site.xml; empty: the one of yarn-site.xml")
      .placeholder("CLUSTER");
  flags.text("yarn-user", options.user, "user of these requests; empty: no user is sent").placeholder("USER");
  hadoop::declare_kerberos_flags(flags, options.kerberos);
  flags
      .list("queue-class", options.queues, "", read_queue_classes,
            "classes of work whose application has no tag tidemark-class:…")
      .placeholder("QUEUE=CLASS");
  flags.group("Containers");
  flags.integer("millicores-per-vcore", options.millicores_per_vcore, 1, 1'000'000,
                "CPU of a vcore, in thousandths of a core, as in the YARN operator: if that is not a whole "
                "core, the agent gets the real amount that containers hold");
  flags
      .text("yarn-container-cgroup-path", options.group,
            "group below which containers are, from the root of a hierarchy; the default is the one of the systemd "
            "driver if only its kubepods exists")
      .placeholder("GROUP");
  flags.boolean("adopt", options.adopt,
                "make cgroups for containers whose NodeManager makes none (DefaultContainerExecutor), with the YARN "
                "amounts as weight and memory limit, and add missing ones for others, so that no container is in the "
                "cgroup of its NodeManager's pod in any hierarchy");
  flags
      .list("nm-local-dirs", options.local_dirs, "", read_folders,
            "the NodeManager's local directories (yarn.nodemanager.local-dirs), to report what containers hold there")
      .placeholder("DIR");
  flags
      .integer("local-dirs-limit-mib", options.local_dirs_limit_mib, 0, std::int64_t{1} << 40,
               "total MiB of those directories: above it containers are asked to end, one after another, from "
               "the application that holds most. 0: no limit")
      .placeholder("MIB");
  flags.duration("local-dirs-grace", options.local_dirs_grace, seconds(0), kGraceMax,
                 "time from that request to the kill");
  flags
      .integer("disk-read-limit-mib", options.disk_read_mib, 0, kDiskMibMax,
               "MiB a second that containers may read from each disk of those folders, all together; the limit goes "
               "with the copilot. With cgroup v1 it wants --adopt. 0: none")
      .placeholder("MIB");
  flags
      .integer("disk-write-limit-mib", options.disk_write_mib, 0, kDiskMibMax,
               "the same for writes; with cgroup v1 only for writes that bypass the page cache")
      .placeholder("MIB");
  flags.text("cgroup-root-dir", options.cgroup_root, "mount point of the machine's cgroups")
      .placeholder("DIR")
      .alias("cgroup-root");
  flags.text("proc-root", options.proc_root, "the machine's /proc").placeholder("DIR");
  flags.boolean("sync-memory-cgroup", options.sync_memory_cgroup,
                "of Koordinator's copilot, for Hadoop 2; no effect here");
  flags.duration("sync-cgroup-period", options.sync_cgroup_period, std::chrono::milliseconds(1), std::chrono::hours(24),
                 "of Koordinator's copilot, used with --sync-memory-cgroup; no effect here");
  flags.group("Serving");
  flags.text("server-endpoint", options.socket, "unix socket of the copilot API; its directory is created")
      .placeholder("SOCKET");
  flags.list("allow-users", options.users, "uids that may send requests, besides root and the copilot's own")
      .placeholder("UID");
  flags
      .text("metrics-addr", options.metrics_address,
            "address of /metrics, /healthz and /readyz; port 0 picks one, 0 is off: the socket has /metrics too")
      .placeholder("HOST:PORT");
}

}  // namespace tidemark::yarn_copilot
