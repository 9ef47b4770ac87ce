#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/node_manager_site.h"
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

// Of the driver, or of the one whose groups are on this machine.
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
  return fail(ErrorKind::kNotFound, "--cgroup-driver=auto looks for a kubelet's groups below ", places.cgroup_root,
              " and finds none: say cgroupfs or systemd, as the kubelets of the cluster have it");
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
      "Prints the yarn-site.xml of a NodeManager on a node of Kubernetes, from that of its cluster: what it "
      "hands out comes from tidemark yarn-operator, its containers lie where offline work lies, and they "
      "outlive it. Changes nothing.");
  Places places;
  cli::NodeSiteOptions options;
  std::string executor = "linux";
  AnswerForm form;
  flags.group("Cluster");
  flags
      .text("hadoop-conf-dir", places.hadoop_conf_dir,
            "folder with the cluster's yarn-site.xml, and core-site.xml beside it; else $HADOOP_CONF_DIR")
      .placeholder("DIR");
  flags
      .text("yarn-cluster", places.cluster,
            "of several in that folder: CLUSTER.yarn-site.xml; empty: the one of yarn-site.xml")
      .placeholder("CLUSTER");
  flags.text("resource-manager", options.resource_manager, "where there is no such folder: the ResourceManager's host")
      .placeholder("HOST");
  flags
      .text(
          "partition", options.partition,
          "the node label of the NodeManager, for work that may be evicted; empty: none. The cluster's labels must be "
          "distributed ones")
      .placeholder("LABEL");
  flags.group("Containers");
  flags.choice("executor", executor, {"linux", "default"},
               "linux: LinuxContainerExecutor, a group for each container; default: without Hadoop's native program, "
               "where tidemark yarn-copilot adopts them");
  flags.choice("cgroup-driver", places.driver, {"auto", "cgroupfs", "systemd"},
               "of the kubelets, which says where offline work lies; auto: as on this machine");
  flags.text("group", options.group, "where else it lies, from the root of a hierarchy").placeholder("GROUP");
  flags.text("cgroup-root", places.cgroup_root, "where the machine's cgroups are mounted").placeholder("DIR");
  flags
      .text("container-executor", options.executor,
            base::cat("Hadoop's native program; empty: the cluster's word, or ", cli::kNodeExecutor))
      .placeholder("FILE");
  flags
      .text("container-executor-group", options.executor_group,
            base::cat("whose it is; empty: the cluster's word, or ", cli::kNodeExecutorGroup))
      .placeholder("GROUP");
  flags.boolean("strict-cpu", options.strict_cpu, "no container has more than its vcores, however idle the node is");
  flags.group("NodeManager");
  flags.list("local-dirs", options.local_dirs, base::cat("empty: the cluster's word, or ", cli::kNodeLocalDir))
      .placeholder("DIR");
  flags.list("log-dirs", options.log_dirs, base::cat("empty: the cluster's word, or ", cli::kNodeLogDir))
      .placeholder("DIR");
  flags.text("recovery-dir", options.recovery_dir, base::cat("empty: the cluster's word, or ", cli::kNodeRecoveryDir))
      .placeholder("DIR");
  constexpr std::int64_t kPortMax = 65535;
  flags.integer("port", options.port, 0, kPortMax,
                base::cat("of its node id, the same at each start; 0: the cluster's word, or ", cli::kNodePort));
  flags.integer("localizer-port", options.localizer_port, 0, kPortMax,
                base::cat("0: the cluster's word, or ", cli::kNodeLocalizerPort));
  flags.integer("web-port", options.web_port, 0, kPortMax, base::cat("0: the cluster's word, or ", cli::kNodeWebPort));
  constexpr std::int64_t kTotalMax = 1'000'000'000;
  flags.integer("memory-mib", options.memory_mib, 0, kTotalMax,
                "what it hands out until the operator says otherwise; 0: the scheduler's smallest container, the least "
                "that a ResourceManager takes");
  flags.integer("vcores", options.vcores, 0, kTotalMax, "the same of vcores");
  declare_form_flag(flags, form);
  flags.arguments("yarn-site", 1, 1);
  flags.example("tidemark generate yarn-site --hadoop-conf-dir /etc/hadoop/conf --cgroup-driver systemd");
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  if (parsed.arguments[0] != "yarn-site") {
    return wrong_use(base::cat("cannot generate ", base::in_quotes(parsed.arguments[0]), "; what can be: yarn-site"),
                     flags);
  }
  if (options.resource_manager.empty()) {
    if (places.hadoop_conf_dir.empty()) places.hadoop_conf_dir = environment_or_empty("HADOOP_CONF_DIR");
    if (places.hadoop_conf_dir.empty()) {
      return wrong_use(
          "which cluster? --hadoop-conf-dir is the folder with its yarn-site.xml, or --resource-manager names its host",
          flags);
    }
  } else if (!places.hadoop_conf_dir.empty()) {
    return wrong_use("--resource-manager is for a cluster without files, and --hadoop-conf-dir names some", flags);
  }
  if (!places.cluster.empty() && places.hadoop_conf_dir.empty()) {
    return wrong_use("--yarn-cluster is one of the files in --hadoop-conf-dir: which folder is that?", flags);
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
