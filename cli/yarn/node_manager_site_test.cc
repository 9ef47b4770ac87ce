#include "cli/yarn/node_manager_site.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "hadoop/yarn_site.h"

namespace tidemark::cli {
namespace {

std::string property(std::string_view name, std::string_view value, std::string_view more = {}) {
  return base::cat("<property><name>", name, "</name><value>", value, "</value>", more, "</property>\n");
}
std::string configuration(std::string_view content) {
  return base::cat("<configuration>\n", content, "</configuration>\n");
}

struct NodeManagerSite : ::testing::Test {
  NodeManagerSite() {
    hadoop::set_yarn_defaults(whole);
    options.group = "kubepods/besteffort/hadoop-yarn";
  }
  // Of the cluster's yarn-site.xml, beside its core-site.xml.
  void say(std::string_view content, std::string_view core = {}) {
    files["/c/core-site.xml"] = configuration(core);
    files["/c/yarn-site.xml"] = configuration(content);
    ASSERT_TRUE(whole.add("/c/core-site.xml", read));
    ASSERT_TRUE(whole.add("/c/yarn-site.xml", read));
    ASSERT_TRUE(own.add("/c/yarn-site.xml", read));
  }
  std::string wrong() {
    const auto made = node_manager_site(own, whole, options);
    return made ? "nothing" : made.error().message;
  }
  // What Hadoop would make of the file.
  hadoop::Site made() {
    const auto sections = node_manager_site(own, whole, options);
    EXPECT_TRUE(sections) << sections.error().message;
    text = render_xml(sections.value());
    json = render_json(sections.value());
    files["/n/yarn-site.xml"] = text;
    hadoop::Site out;
    const auto added = out.add("/n/yarn-site.xml", read);
    EXPECT_TRUE(added) << added.error().message << "\n" << text;
    return out;
  }
  static std::string value(const hadoop::Site& site, std::string_view name) {
    return site.text(base::cat("yarn.", name)).value().value_or("(not set)");
  }

  std::map<std::string, std::string> files;
  hadoop::ReadFile read = [this](const std::string& name, std::size_t) -> Result<std::string> {
    const auto found = files.find(name);
    if (found == files.end()) return fail(ErrorKind::kNotFound, name, ": no such file");
    return found->second;
  };
  hadoop::Site own, whole;
  NodeSiteOptions options;
  std::string text, json;
};

TEST_F(NodeManagerSite, EmptyClusterGetsAllProperties) {
  say(property("yarn.resourcemanager.hostname", "rm.example"));
  const hadoop::Site site = made();
  EXPECT_EQ(value(site, "resourcemanager.hostname"), "rm.example");
  EXPECT_EQ(value(site, "nodemanager.resource.memory-mb"), "1024") << "Hadoop's smallest container";
  EXPECT_EQ(value(site, "nodemanager.resource.cpu-vcores"), "1");
  EXPECT_TRUE(value(site, "nodemanager.container-executor.class").ends_with(".LinuxContainerExecutor"));
  EXPECT_EQ(value(site, "nodemanager.linux-container-executor.cgroups.hierarchy"), "/kubepods/besteffort/hadoop-yarn");
  EXPECT_EQ(value(site, "nodemanager.linux-container-executor.cgroups.mount"), "false");
  EXPECT_EQ(value(site, "nodemanager.linux-container-executor.cgroups.strict-resource-usage"), "false");
  EXPECT_EQ(value(site, "nodemanager.resource.memory.enabled"), "true");
  EXPECT_EQ(value(site, "nodemanager.pmem-check-enabled"), "false");
  EXPECT_EQ(value(site, "nodemanager.recovery.enabled"), "true");
  EXPECT_EQ(value(site, "nodemanager.recovery.supervised"), "true");
  EXPECT_EQ(value(site, "nodemanager.recovery.dir"), kNodeRecoveryDir);
  EXPECT_EQ(value(site, "nodemanager.address"), "${yarn.nodemanager.hostname}:8041");
  EXPECT_EQ(value(site, "nodemanager.local-dirs"), kNodeLocalDir);
  EXPECT_EQ(value(site, "nodemanager.aux-services"), "(not set)");
  EXPECT_EQ(value(site, "nodemanager.node-labels.provider"), "(not set)");
}

TEST_F(NodeManagerSite, KeepsAllowedClusterValues) {
  say(property("yarn.resourcemanager.hostname", "rm") + property("yarn.scheduler.minimum-allocation-mb", "512") +
      property("yarn.scheduler.minimum-allocation-vcores", "2") +
      property("yarn.nodemanager.local-dirs", " /d1/yarn,/d2/yarn ") +
      property("yarn.nodemanager.address", "0.0.0.0:45454") + property("yarn.nodemanager.webapp.address", "0.0.0.0:0") +
      property("yarn.nodemanager.aux-services", "mapreduce_shuffle,spark_shuffle") +
      property("yarn.nodemanager.aux-services.spark_shuffle.class", "a.B", "<final>true</final>") +
      property("yarn.application.classpath", "${env.HADOOP_HOME}/*,a&lt;b&amp;c") +
      property("yarn.resourcemanager.ha.id", "rm1"));
  const hadoop::Site site = made();
  EXPECT_EQ(value(site, "nodemanager.resource.memory-mb"), "512");
  EXPECT_EQ(value(site, "nodemanager.resource.cpu-vcores"), "2");
  EXPECT_EQ(value(site, "nodemanager.local-dirs"), "/d1/yarn,/d2/yarn");
  EXPECT_EQ(value(site, "nodemanager.address"), "0.0.0.0:45454");
  EXPECT_EQ(value(site, "nodemanager.webapp.address"), "0.0.0.0:8042")
      << "a port that is any would be another each time";
  EXPECT_EQ(value(site, "nodemanager.aux-services"), "mapreduce_shuffle,spark_shuffle");
  EXPECT_EQ(value(site, "nodemanager.aux-services.spark_shuffle.class"), "a.B");
  EXPECT_EQ(value(site, "application.classpath"), "${env.HADOOP_HOME}/*,a<b&c") << "its variables are filled in there";
  EXPECT_EQ(value(site, "resourcemanager.ha.id"), "(not set)") << "of a machine that has a ResourceManager";
  EXPECT_TRUE(text.contains("<value>a.B</value>\n    <final>true</final>")) << text;
}

TEST_F(NodeManagerSite, FlagsOutrankTheCluster) {
  say(property("yarn.resourcemanager.hostname", "rm") + property("yarn.nodemanager.address", "0.0.0.0:45454") +
      property("yarn.nodemanager.log-dirs", "/l") +
      property("yarn.nodemanager.recovery.enabled", "false", "<final>true</final>"));
  options.port = 9000;
  options.log_dirs = {"/logs/1", "/logs/2"};
  options.memory_mib = 4096;
  options.vcores = 3;
  options.strict_cpu = true;
  options.group = "/kubepods.slice/kubepods-besteffort.slice/hadoop-yarn/";
  const hadoop::Site site = made();
  EXPECT_EQ(value(site, "nodemanager.address"), "0.0.0.0:9000");
  EXPECT_EQ(value(site, "nodemanager.log-dirs"), "/logs/1,/logs/2");
  EXPECT_EQ(value(site, "nodemanager.resource.memory-mb"), "4096");
  EXPECT_EQ(value(site, "nodemanager.resource.cpu-vcores"), "3");
  EXPECT_EQ(value(site, "nodemanager.recovery.enabled"), "true") << "not the cluster's to say";
  EXPECT_EQ(value(site, "nodemanager.linux-container-executor.cgroups.strict-resource-usage"), "true");
  EXPECT_EQ(value(site, "nodemanager.linux-container-executor.cgroups.hierarchy"),
            "/kubepods.slice/kubepods-besteffort.slice/hadoop-yarn");
  EXPECT_TRUE(text.contains("(/c/yarn-site.xml has \"false\")")) << text;
  const auto settings = Json::parse(json).value();
  int seen = 0;
  for (const Json& each : settings.at("settings")->as_array()) {
    if (each.text_at("name") == "yarn.nodemanager.recovery.enabled") {
      ++seen;
      EXPECT_EQ(each.text_at("insteadOf"), "/c/yarn-site.xml");
      EXPECT_EQ(each.text_at("replaced"), "false");
    }
    if (each.text_at("name") == "yarn.resourcemanager.hostname") {
      ++seen;
      EXPECT_EQ(each.text_at("from"), "/c/yarn-site.xml");
    }
  }
  EXPECT_EQ(seen, 2);
}

TEST_F(NodeManagerSite, DefaultExecutorHasNoCgroups) {
  say(property("yarn.resourcemanager.hostname", "rm"));
  options.in_groups = false;
  const hadoop::Site site = made();
  EXPECT_TRUE(value(site, "nodemanager.container-executor.class").ends_with(".DefaultContainerExecutor"));
  EXPECT_EQ(value(site, "nodemanager.resource.memory.enabled"), "false");
  EXPECT_EQ(value(site, "nodemanager.pmem-check-enabled"), "true");
  EXPECT_EQ(value(site, "nodemanager.linux-container-executor.cgroups.hierarchy"), "(not set)");
}

TEST_F(NodeManagerSite, HostIsEnoughWithoutFiles) {
  options.resource_manager = "rm.example";
  whole.set_default("yarn.resourcemanager.hostname", "rm.example");
  EXPECT_EQ(value(made(), "resourcemanager.hostname"), "rm.example");
}

TEST_F(NodeManagerSite, PartitionNeedsDistributedLabels) {
  say(property("yarn.resourcemanager.hostname", "rm"));
  options.partition = "volatile";
  EXPECT_TRUE(wrong().contains("yarn.node-labels.enabled is not true by a default")) << wrong();
  say(property("yarn.node-labels.enabled", "true"));
  EXPECT_TRUE(wrong().contains("yarn.node-labels.configuration-type is \"centralized\"")) << wrong();
  say(property("yarn.node-labels.configuration-type", "distributed"));
  EXPECT_EQ(value(made(), "nodemanager.node-labels.provider.configured-node-partition"), "volatile");
  options.partition = "a b";
  EXPECT_TRUE(wrong().starts_with("--partition has letters")) << wrong();
}

TEST_F(NodeManagerSite, InvalidValueIsRejectedWithItsPlace) {
  say("");
  EXPECT_EQ(wrong(),
            "neither yarn.resourcemanager.hostname nor yarn.resourcemanager.resource-tracker.address is set: a "
            "NodeManager would have no address to register with");
  say(property("yarn.resourcemanager.hostname", "rm") + property("yarn.scheduler.minimum-allocation-mb", "much"));
  EXPECT_EQ(wrong(), "/c/yarn-site.xml: yarn.scheduler.minimum-allocation-mb must be a number, found \"much\"");
  say(property("yarn.scheduler.minimum-allocation-mb", "512") + property("yarn.nodemanager.address", "here"));
  EXPECT_EQ(wrong(), "/c/yarn-site.xml: yarn.nodemanager.address is HOST:PORT, found \"here\"");
  options.port = 8041;
  EXPECT_EQ(wrong(), "nothing");
  options.memory_mib = 511;
  EXPECT_TRUE(wrong().starts_with("--memory-mib and --vcores: 511 MiB and 1 vcores is less than the 512 MiB and 1"))
      << wrong();
  options.memory_mib = 0;
  options.local_dirs = {"/a", "b"};
  EXPECT_EQ(wrong(), "--local-dirs: wanted an absolute path, found \"b\"");
  options.local_dirs.clear();
  options.group = "a/../b";
  EXPECT_EQ(wrong(), "--group \"a/../b\" leads up");
  options.group = "/";
  EXPECT_EQ(wrong(), "--group: must not be the root, found \"/\"");
  options.group = "yarn";
  say(property("yarn.nodemanager.aux-services", "spark_shuffle"));
  EXPECT_TRUE(wrong().contains("yarn.nodemanager.aux-services.spark_shuffle.class is not set")) << wrong();
  say(property("yarn.nodemanager.aux-services", "") + property("yarn.resourcemanager.ha.enabled", "true") +
      property("yarn.resourcemanager.ha.rm-ids", "a,b") + property("yarn.resourcemanager.hostname.a", "one"));
  EXPECT_TRUE(wrong().contains("ResourceManager \"b\"")) << wrong();
}

// Whatever a cluster's file says, a comment about it must not end early.
TEST_F(NodeManagerSite, ClusterValuesCannotEndComment) {
  say(property("yarn.resourcemanager.hostname", "rm") +
      property("yarn.nodemanager.recovery.enabled", "--&gt;&lt;property&gt;--"));
  EXPECT_EQ(value(made(), "nodemanager.recovery.enabled"), "true");
  EXPECT_TRUE(text.contains("- ->")) << text;
}

}  // namespace
}  // namespace tidemark::cli
