#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/yarn/node_manager_site.h"
#include "hadoop/yarn_site.h"
#include "kube/config.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"
#include "main/hadoop_folder.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "yarn_copilot/yarn_copilot.h"

namespace tidemark::main {
namespace {

constexpr std::string_view kSite = "yarn-site.xml";
constexpr std::size_t kMountsBytesMax = std::size_t{32} << 20;

struct Places {
  std::string hadoop_conf_dir;
  std::string cluster;
  std::string driver = "auto";
  std::string cgroup_root = "/sys/fs/cgroup";
};

// The cgroup of offline work for the driver; auto: for the driver whose cgroups this machine has.
Result<std::string> group_of(const Places& places) {
  if (places.driver == "cgroupfs") return std::string(yarn_copilot::kDefaultGroup);
  if (places.driver == "systemd") return std::string(yarn_copilot::kSystemdGroup);
  linux::Buffer buffer(kMountsBytesMax);
  TM_TRY(const auto mounts, linux::read_path("/proc/self/mountinfo", buffer));
  const auto hierarchies = linux::Hierarchies::discover(places.cgroup_root, mounts.value_or(""));
  if (hierarchies) {
    for (const std::string_view group : {yarn_copilot::kDefaultGroup, yarn_copilot::kSystemdGroup}) {
      const auto above = linux::Group::open(*hierarchies, group.substr(0, group.rfind('/')));
      if (above && *above) return std::string(group);
    }
  }
  return fail(ErrorKind::kNotFound, "--cgroup-driver=auto: no kubelet cgroups below ", places.cgroup_root,
              "; give cgroupfs or systemd, the cgroup driver of the cluster's kubelets");
}

struct Sites {
  hadoop::Site own;
  hadoop::Site whole;
};
Result<Sites> read_sites(const Places& places, const cli::NodeSiteOptions& options) {
  const auto folder = hadoop_folder(places.hadoop_conf_dir);
  Sites out{hadoop::Site(folder.environment), hadoop::Site(folder.environment)};
  if (places.hadoop_conf_dir.empty()) {
    hadoop::set_yarn_defaults(out.whole);
    out.whole.set_default("yarn.resourcemanager.hostname", options.resource_manager);
    return out;
  }
  const std::string prefix = places.cluster.empty() ? "" : base::cat(places.cluster, ".");
  TM_TRY(out.whole, yarn_operator::read_site(folder, prefix));
  TM_TRY_VOID(out.own.add(base::cat(folder.path, "/", prefix, kSite), folder.read));
  return out;
}

}  // namespace

int run_generate(const std::vector<std::string>& args) {
  base::Flags flags(
      "tidemark generate",
      "Prints the yarn-site.xml of a NodeManager on a Kubernetes node, based on that of its YARN cluster. Its "
      "resources come from tidemark yarn-operator, its containers run in the cgroup of offline work and survive its "
      "restart. Changes nothing.");
  Places places;
  cli::NodeSiteOptions options;
  std::string executor = "linux";
  AnswerForm form;
  flags.group("Cluster");
  flags
      .text("hadoop-conf-dir", places.hadoop_conf_dir,
            "directory with yarn-site.xml and core-site.xml of the cluster (default $HADOOP_CONF_DIR)")
      .placeholder("DIR");
  flags.text("yarn-cluster", places.cluster, "cluster whose file is CLUSTER.yarn-site.xml; empty: yarn-site.xml")
      .placeholder("CLUSTER");
  flags.text("resource-manager", options.resource_manager, "host of the ResourceManager, without --hadoop-conf-dir")
      .placeholder("HOST");
  flags
      .text("partition", options.partition,
            "YARN node label of the NodeManager, for work that may be evicted; empty: none. Needs distributed node "
            "labels")
      .placeholder("LABEL");
  flags.group("Containers");
  flags.choice("executor", executor, {"linux", "default"},
               "linux: LinuxContainerExecutor, one cgroup per container; default: no native program; tidemark "
               "yarn-copilot creates the cgroups");
  flags.choice("cgroup-driver", places.driver, {"auto", "cgroupfs", "systemd"},
               "cgroup driver of the kubelets; auto: as on this machine");
  flags.text("group", options.group, "cgroup of offline work, relative to the hierarchy's root").placeholder("GROUP");
  flags.text("cgroup-root", places.cgroup_root, "mount point of the machine's cgroups").placeholder("DIR");
  flags
      .text("container-executor", options.executor,
            base::cat("path of Hadoop's native program; empty: the cluster's value, or ", cli::kNodeExecutor))
      .placeholder("FILE");
  flags
      .text("container-executor-group", options.executor_group,
            base::cat("group of the native program; empty: the cluster's value, or ", cli::kNodeExecutorGroup))
      .placeholder("GROUP");
  flags.boolean("strict-cpu", options.strict_cpu, "limit each container to its vcores even on an idle node");
  flags.group("NodeManager");
  flags
      .list("local-dirs", options.local_dirs,
            base::cat("local directories; empty: the cluster's value, or ", cli::kNodeLocalDir))
      .placeholder("DIR");
  flags
      .list("log-dirs", options.log_dirs,
            base::cat("log directories; empty: the cluster's value, or ", cli::kNodeLogDir))
      .placeholder("DIR");
  flags
      .text("recovery-dir", options.recovery_dir,
            base::cat("recovery directory; empty: the cluster's value, or ", cli::kNodeRecoveryDir))
      .placeholder("DIR");
  constexpr std::int64_t kPortMax = 65535;
  flags.integer("port", options.port, 0, kPortMax,
                base::cat("port of its node ID, constant over restarts; 0: the cluster's value, or ", cli::kNodePort));
  flags.integer("localizer-port", options.localizer_port, 0, kPortMax,
                base::cat("port of the localizer; 0: the cluster's value, or ", cli::kNodeLocalizerPort));
  flags.integer("web-port", options.web_port, 0, kPortMax,
                base::cat("port of the web UI; 0: the cluster's value, or ", cli::kNodeWebPort));
  constexpr std::int64_t kTotalMax = 1'000'000'000;
  flags.integer("memory-mib", options.memory_mib, 0, kTotalMax,
                "memory in MiB until the operator sets it; 0: the scheduler's smallest container, the minimum of a "
                "ResourceManager");
  flags.integer("vcores", options.vcores, 0, kTotalMax, "vcores until the operator sets them; 0 as for memory");
  declare_form_flag(flags, form);
  flags.arguments("yarn-site", 1, 1);
  flags.example("tidemark generate yarn-site --hadoop-conf-dir /etc/hadoop/conf --cgroup-driver systemd");
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  if (parsed.arguments[0] != "yarn-site") {
    return wrong_use(base::cat("cannot generate ", base::in_quotes(parsed.arguments[0]), "; expected yarn-site"),
                     flags);
  }
  if (options.resource_manager.empty()) {
    if (places.hadoop_conf_dir.empty()) places.hadoop_conf_dir = environment_or_empty("HADOOP_CONF_DIR");
    if (places.hadoop_conf_dir.empty()) {
      return wrong_use(
          "cluster is not set; give --hadoop-conf-dir (directory of its yarn-site.xml) or --resource-manager (host)",
          flags);
    }
  } else if (!places.hadoop_conf_dir.empty()) {
    return wrong_use("--resource-manager and --hadoop-conf-dir exclude each other", flags);
  }
  if (!places.cluster.empty() && places.hadoop_conf_dir.empty()) {
    return wrong_use("--yarn-cluster needs --hadoop-conf-dir", flags);
  }
  options.in_groups = executor == "linux";
  if (options.in_groups && options.group.empty()) {
    auto group = group_of(places);
    if (!group) return failed(group.error());
    options.group = *std::move(group);
  }
  const auto sites = read_sites(places, options);
  if (!sites) return failed(sites.error());
  const auto site = cli::node_manager_site(sites->own, sites->whole, options);
  if (!site) return failed(site.error());
  return print(form.json() ? cli::render_json(*site) : cli::render_xml(*site));
}

}  // namespace tidemark::main
