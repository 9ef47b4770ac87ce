// The yarn-site.xml of a NodeManager under Tidemark, made from that of its cluster: all that the cluster's file says
// stays, but for what a NodeManager on a node of Kubernetes has to have otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hadoop/site.h"

namespace tidemark::cli {

inline constexpr std::string_view kNodeLocalDir = "/var/lib/hadoop-yarn/local";
inline constexpr std::string_view kNodeLogDir = "/var/log/hadoop-yarn/containers";
inline constexpr std::string_view kNodeRecoveryDir = "/var/lib/hadoop-yarn/recovery";
inline constexpr std::string_view kNodeExecutor = "/opt/hadoop/bin/container-executor";
inline constexpr std::string_view kNodeExecutorGroup = "hadoop";
inline constexpr std::int64_t kNodePort = 8041, kNodeLocalizerPort = 8040, kNodeWebPort = 8042;

// Errors name them as flags of `tidemark generate yarn-site`.
struct NodeSiteOptions {
  std::string resource_manager;  // its host, where no file says anything; "": the files do
  bool in_groups = true;         // false: DefaultContainerExecutor
  std::string group;             // of containers, from the root of a hierarchy; where they are in groups
  bool strict_cpu = false;       // no more processors than its vcores stand for, however idle the node is
  // What is not said here is as the cluster has it, and otherwise as the lines above have it.
  std::string executor;  // the native container-executor
  std::string executor_group;
  std::vector<std::string> local_dirs;
  std::vector<std::string> log_dirs;
  std::string recovery_dir;
  std::int64_t port = 0;
  std::int64_t localizer_port = 0;
  std::int64_t web_port = 0;
  std::int64_t memory_mib = 0;  // 0, and vcores too: the least that its ResourceManager takes
  std::int64_t vcores = 0;
  std::string partition;  // its node label; "": none
};

struct NodeSetting {
  std::string name;
  std::string value;
  std::string why;                      // "": the cluster's own
  std::string place;                    // the file that says so, or says otherwise; "": none does
  std::optional<std::string> replaced;  // what it says otherwise
  bool final = false;
};

struct NodeSiteSection {
  std::string title;
  std::vector<NodeSetting> settings;
};

// `own`: what the cluster's yarn-site.xml says. `whole`: with core-site.xml and Hadoop's defaults, for what follows
// from all of them. Wrong text in either is an error that names the file and the setting.
Result<std::vector<NodeSiteSection>> node_manager_site(const hadoop::Site& own, const hadoop::Site& whole,
                                                       const NodeSiteOptions& options);

std::string render_xml(const std::vector<NodeSiteSection>& sections);
std::string render_json(const std::vector<NodeSiteSection>& sections);

}  // namespace tidemark::cli
