#include "cli/yarn/node_manager_site.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "hadoop/yarn_site.h"

namespace tidemark::cli {
namespace {

constexpr std::string_view kNode = "yarn.nodemanager.";
constexpr std::string_view kServer = "org.apache.hadoop.yarn.server.nodemanager.";
constexpr std::string_view kShuffle = "mapreduce_shuffle";  // the one whose class Hadoop's defaults name
constexpr std::size_t kColumns = 120;

std::string node(std::string_view name) {
  return base::cat(kNode, name);
}
std::string executor(std::string_view name) {
  return base::cat(kNode, "linux-container-executor.", name);
}
std::string_view word(bool value) {
  return value ? "true" : "false";
}

class Writer {
 public:
  explicit Writer(const hadoop::Site& own) : said_(own.said()) {}

  void section(std::string title) { sections_.push_back({std::move(title), {}}); }

  // Whatever the cluster says of it.
  void decide(std::string name, std::string value, std::string why) {
    NodeSetting out{std::move(name), std::move(value), std::move(why), {}, std::nullopt, false};
    if (const auto* said = find(out.name)) {
      out.place = said->file;
      if (said->value != out.value) out.replaced = said->value;
    }
    add(std::move(out));
  }
  // Where nothing was asked for and the cluster says nothing.
  void suggest(std::string name, std::string asked, std::string otherwise, std::string why) {
    const auto* said = find(name);
    if (asked.empty() && said != nullptr) {
      keep(*said, std::move(why));
    } else {
      decide(std::move(name), asked.empty() ? std::move(otherwise) : std::move(asked), std::move(why));
    }
  }
  // Not said at all, whatever the cluster says.
  void drop(const std::string& name) { done_.insert(name); }
  void keep_the_rest() {
    for (const hadoop::Site::Said& each : said_) {
      if (!done_.contains(each.name)) keep(each, {});
    }
  }
  const hadoop::Site::Said* find(const std::string& name) const {
    const auto found = std::ranges::find(said_, name, &hadoop::Site::Said::name);
    return found == said_.end() ? nullptr : &*found;
  }
  std::vector<NodeSiteSection> finish() {
    std::erase_if(sections_, [](const NodeSiteSection& each) { return each.settings.empty(); });
    return std::move(sections_);
  }

 private:
  void keep(const hadoop::Site::Said& said, std::string why) {
    add({said.name, std::string(base::trim(said.value)), std::move(why), said.file, std::nullopt, said.final});
  }
  void add(NodeSetting setting) {
    done_.insert(setting.name);
    sections_.back().settings.push_back(std::move(setting));
  }

  std::vector<hadoop::Site::Said> said_;
  std::set<std::string> done_;
  std::vector<NodeSiteSection> sections_;
};

Result<std::string> group_path(std::string_view text) {
  std::string out;
  for (const std::string_view part : base::split(text, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return fail(ErrorKind::kInvalid, "--group ", base::in_quotes(text), " leads up");
    out += base::cat("/", part);
  }
  if (out.empty()) return fail(ErrorKind::kInvalid, "--group: must not be the root, found ", base::in_quotes(text));
  return out;
}

Result<void> check_folders(std::string_view what, const std::vector<std::string>& folders) {
  for (const std::string& each : folders) {
    if (!each.starts_with('/')) {
      return fail(ErrorKind::kInvalid, what, ": wanted an absolute path, found ", base::in_quotes(each));
    }
  }
  return {};
}

// As the cluster has it, where that is a port which is always the same.
Result<std::int64_t> port_of(const hadoop::Site& own, const std::string& key, std::int64_t asked,
                             std::int64_t otherwise) {
  if (asked != 0) return asked;
  TM_TRY(const auto said, own.text(key));
  if (!said || said->empty()) return otherwise;
  // A variable may stand for the host.
  const std::size_t colon = said->rfind(':');
  const auto port =
      colon == std::string::npos ? std::nullopt : base::parse_int(std::string_view(*said).substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) {
    return fail(ErrorKind::kInvalid, own.place(key), ": ", key, " is HOST:PORT, found ", base::in_quotes(*said));
  }
  return *port == 0 ? otherwise : *port;
}

std::string host_of(const hadoop::Site& own, const std::string& key) {
  for (const hadoop::Site::Said& each : own.said()) {
    const std::size_t colon = each.value.rfind(':');
    if (each.name == key && colon != std::string::npos && colon > 0) {
      return std::string(base::trim(std::string_view(each.value).substr(0, colon)));
    }
  }
  return "${yarn.nodemanager.hostname}";
}

Result<void> check_services(const hadoop::Site& own) {
  const std::string key = node("aux-services");
  TM_TRY(const std::vector<std::string> services, own.list(key));
  for (const std::string& service : services) {
    const std::string class_key = base::cat(key, ".", service, ".class");
    TM_TRY(const auto known, own.text(class_key));
    if (service != kShuffle && (!known || known->empty())) {
      return fail(ErrorKind::kInvalid, own.place(key), ": ", key, " names ", base::in_quotes(service), ", and ",
                  class_key, " is not set: the NodeManager would not start");
    }
  }
  return {};
}

Result<void> check_partition(const hadoop::Site& whole, const std::string& partition) {
  if (partition.empty()) return {};
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (partition.find_first_not_of(kPlain) != std::string::npos || partition.front() == '-' ||
      partition.front() == '_') {
    return fail(ErrorKind::kInvalid, "--partition has letters, digits, - and _, found ", base::in_quotes(partition));
  }
  TM_TRY(const bool labels, whole.boolean("yarn.node-labels.enabled", false));
  if (!labels) {
    return fail(ErrorKind::kInvalid,
                "--partition is a node label, and the cluster has none: yarn.node-labels.enabled is not true by ",
                whole.place("yarn.node-labels.enabled"));
  }
  const std::string key = "yarn.node-labels.configuration-type";
  TM_TRY(const auto type, whole.text(key));
  if (type.value_or("centralized") != "distributed") {
    return fail(ErrorKind::kInvalid, whole.place(key), ": ", key, " is ", base::in_quotes(type.value_or("centralized")),
                ": only with \"distributed\" a NodeManager says its own label; otherwise `yarn rmadmin "
                "-replaceLabelsOnNode` does");
  }
  return {};
}

Result<void> say_totals(Writer& writer, const hadoop::Site& whole, const NodeSiteOptions& options) {
  TM_TRY(const hadoop::Resource least, hadoop::least_container(whole));
  const std::int64_t memory = options.memory_mib > 0 ? options.memory_mib : std::max<std::int64_t>(least.memory_mib, 1);
  const std::int64_t vcores = options.vcores > 0 ? options.vcores : std::max<std::int64_t>(least.vcores, 1);
  if (memory < least.memory_mib || vcores < least.vcores) {
    return fail(ErrorKind::kInvalid, "--memory-mib and --vcores: ", memory, " MiB and ", vcores,
                " vcores is less than the ", least.memory_mib, " MiB and ", least.vcores,
                " of the scheduler's smallest container: the ResourceManager refuses such a NodeManager");
  }
  writer.section("Resources");
  const std::string_view until =
      "Until tidemark yarn-operator sends the ResourceManager the total of the node, in its next pass. ";
  writer.decide(node("resource.memory-mb"), std::to_string(memory),
                options.memory_mib > 0
                    ? std::string(until)
                    : base::cat(until,
                                "The minimum of a ResourceManager is its scheduler's smallest container; "
                                "it rejects a NodeManager with 0."));
  writer.decide(node("resource.cpu-vcores"), std::to_string(vcores), "As the memory.");
  writer.decide(node("resource.detect-hardware-capabilities"), "false", "The machine is not YARN's alone.");
  return {};
}

Result<void> say_groups(Writer& writer, const NodeSiteOptions& options) {
  TM_TRY(const std::string group, group_path(options.group));
  writer.section("Where containers lie");
  writer.decide(node("container-executor.class"), base::cat(kServer, "LinuxContainerExecutor"),
                "Each container is a cgroup, which nothing in it can leave.");
  writer.suggest(executor("path"), options.executor, std::string(kNodeExecutor),
                 "The native program of Hadoop's distribution: root's, setuid, of the group below.");
  writer.suggest(executor("group"), options.executor_group, std::string(kNodeExecutorGroup),
                 "The same as in container-executor.cfg.");
  writer.decide(
      executor("cgroups.hierarchy"), group,
      "Next to the BestEffort pods, so that their limits also apply here. Tidemark's copilot needs the same cgroup.");
  writer.decide(executor("cgroups.mount"), "false", "The kubelet has mounted them.");
  writer.decide(node("resource.cpu.enabled"), "true", "Shares of the processors by vcores.");
  writer.decide(executor("cgroups.strict-resource-usage"), std::string(word(options.strict_cpu)),
                options.strict_cpu ? "A container gets at most its vcores, even on an idle node."
                                   : "Containers may use idle CPU; Tidemark's agent limits them if online work needs "
                                     "it.");
  writer.decide(node("resource.percentage-physical-cpu-limit"), "100",
                "Other than 100 is a quota over all containers, by the size of the machine, which is not YARN's.");
  writer.decide(node("resource.memory.enabled"), "true", "A container's limit is the kernel's.");
  return {};
}

void say_processes(Writer& writer) {
  writer.section("Where containers lie");
  writer.decide(node("container-executor.class"), base::cat(kServer, "DefaultContainerExecutor"),
                "It creates no cgroups; the copilot does for adopted containers.");
  for (const std::string_view name : {"resource.cpu.enabled", "resource.memory.enabled"}) {
    writer.decide(node(name), "false", "This executor has no cgroups.");
  }
}

Result<void> say_restart(Writer& writer, const hadoop::Site& own, const NodeSiteOptions& options) {
  writer.section("Containers outlive it");
  writer.decide(node("recovery.enabled"), "true", "The next NodeManager takes over running containers.");
  writer.suggest(node("recovery.dir"), options.recovery_dir, std::string(kNodeRecoveryDir),
                 "On the machine: the pod's files are deleted with the pod.");
  writer.decide(node("recovery.supervised"), "true",
                "A stopping NodeManager keeps its containers and stays registered.");
  const std::string address = node("address");
  TM_TRY(const std::int64_t port, port_of(own, address, options.port, kNodePort));
  writer.decide(address, base::cat(host_of(own, address), ":", port),
                "With port 0, Hadoop's default, it would be another node after each start, and could not recover.");
  const std::string localizer = node("localizer.address");
  TM_TRY(const std::int64_t localizer_port, port_of(own, localizer, options.localizer_port, kNodeLocalizerPort));
  writer.decide(localizer, base::cat(host_of(own, localizer), ":", localizer_port), "");
  const std::string web = node("webapp.address");
  TM_TRY(const std::int64_t web_port, port_of(own, web, options.web_port, kNodeWebPort));
  writer.decide(web, base::cat(host_of(own, web), ":", web_port), "Where the copilot asks.");
  return {};
}

Result<void> say_folders(Writer& writer, const NodeSiteOptions& options) {
  TM_TRY_VOID(check_folders("--local-dirs", options.local_dirs));
  TM_TRY_VOID(check_folders("--log-dirs", options.log_dirs));
  if (!options.recovery_dir.empty()) TM_TRY_VOID(check_folders("--recovery-dir", {options.recovery_dir}));
  writer.section("Disks");
  writer.suggest(node("local-dirs"), base::join(options.local_dirs, ","), std::string(kNodeLocalDir),
                 "On the machine, under the same path: running containers have their files there.");
  writer.suggest(node("log-dirs"), base::join(options.log_dirs, ","), std::string(kNodeLogDir), "The same.");
  writer.suggest(node("disk-health-checker.max-disk-utilization-per-disk-percentage"), "", "85.0",
                 "Before a kubelet begins to evict pods for want of room, at 90 % by its default.");
  writer.suggest(node("delete.debug-delay-sec"), "", "0", "What has ended leaves the disk at once.");
  return {};
}

void say_checks(Writer& writer, const NodeSiteOptions& options) {
  writer.section("Memory");
  writer.decide(node("pmem-check-enabled"), std::string(word(!options.in_groups)),
                options.in_groups ? "The groups do it, and do not count shared pages twice."
                                  : "Nothing else holds a container to its memory.");
  writer.decide(node("vmem-check-enabled"), "false", "A JVM reserves more addresses than it has memory.");
}

void say_services(Writer& writer) {
  const std::string key = node("aux-services");
  if (writer.find(key) == nullptr) return;
  writer.section("Services in it");
  writer.suggest(key, "", "", "The cluster's, whose jars the image must have. They recover with the NodeManager.");
}

// A comment of XML has no "--" and does not end with "-".
std::string comment_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-' && out.ends_with('-')) out += ' ';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

std::string comment(std::string_view text, std::string_view indent) {
  const std::string words = comment_text(text);
  std::string out;
  std::string line = base::cat(indent, "<!--");
  for (const std::string_view each : base::split(words, ' ')) {
    if (each.empty()) continue;
    if (line.size() + 1 + each.size() > kColumns - 4) {
      out += line + "\n";
      line = base::cat(indent, "    ");
    }
    line += base::cat(" ", each);
  }
  return base::cat(out, line, " -->\n");
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\r':
        out += "&#13;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string why_of(const NodeSetting& setting) {
  if (!setting.replaced) return setting.why;
  return base::cat(setting.why, setting.why.empty() ? "" : " ", "(", setting.place, " has ",
                   base::in_quotes(*setting.replaced), ")");
}

}  // namespace

Result<std::vector<NodeSiteSection>> node_manager_site(const hadoop::Site& own, const hadoop::Site& whole,
                                                       const NodeSiteOptions& options) {
  TM_TRY_VOID(hadoop::resource_managers(whole));
  TM_TRY_VOID(hadoop::check_tracker(whole));
  TM_TRY_VOID(check_services(own));
  TM_TRY_VOID(check_partition(whole, options.partition));
  Writer writer(own);
  if (!options.resource_manager.empty()) {
    writer.section("Its ResourceManager");
    writer.decide("yarn.resourcemanager.hostname", options.resource_manager, "");
  }
  TM_TRY_VOID(say_totals(writer, whole, options));
  if (options.in_groups) {
    TM_TRY_VOID(say_groups(writer, options));
  } else {
    say_processes(writer);
  }
  TM_TRY_VOID(say_restart(writer, own, options));
  TM_TRY_VOID(say_folders(writer, options));
  say_checks(writer, options);
  say_services(writer);
  if (!options.partition.empty()) {
    writer.section("Which work it takes");
    writer.decide(node("node-labels.provider"), "config", "The NodeManager sends its label with each registration.");
    writer.decide(
        node("node-labels.provider.configured-node-partition"), options.partition,
        "Only queues that may use this label have containers here; masters of applications without it do not.");
  }
  writer.drop("yarn.resourcemanager.ha.id");  // of a machine that has a ResourceManager: it says which one that is
  writer.section("The cluster's own");
  writer.keep_the_rest();
  return writer.finish();
}

std::string render_xml(const std::vector<NodeSiteSection>& sections) {
  std::string out = "<?xml version=\"1.0\"?>\n";
  out += comment(
      "Of a NodeManager on a node of Kubernetes, made by `tidemark generate yarn-site`: made again, edits are lost. "
      "core-site.xml stays as it is.",
      "");
  out += "<configuration>\n";
  for (const NodeSiteSection& section : sections) {
    out += base::cat("\n", comment(base::cat("== ", section.title, " =="), "  "));
    for (const NodeSetting& each : section.settings) {
      if (const std::string why = why_of(each); !why.empty()) out += comment(why, "  ");
      out += base::cat("  <property>\n    <name>", escaped(each.name), "</name>\n    <value>", escaped(each.value),
                       "</value>\n", each.final ? "    <final>true</final>\n" : "", "  </property>\n");
    }
  }
  return out + "</configuration>\n";
}

std::string render_json(const std::vector<NodeSiteSection>& sections) {
  Json settings = Json::array();
  for (const NodeSiteSection& section : sections) {
    for (const NodeSetting& each : section.settings) {
      Json one =
          Json::object({{"name", each.name}, {"value", each.value}, {"section", section.title}, {"why", each.why}});
      if (!each.place.empty()) one.as_object().set(each.replaced ? "insteadOf" : "from", each.place);
      if (each.replaced) one.as_object().set("replaced", *each.replaced);
      if (each.final) one.as_object().set("final", true);
      settings.as_array().push_back(std::move(one));
    }
  }
  return Json::object({{"settings", std::move(settings)}}).dump_pretty() + "\n";
}

}  // namespace tidemark::cli
