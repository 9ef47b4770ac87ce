#include "yarn_operator/clusters.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace tidemark::yarn_operator {
namespace {

std::string site(const std::string& host) {
  return "<configuration><property><name>yarn.resourcemanager.hostname</name><value>" + host +
         "</value></property></configuration>";
}

class ClustersTest : public ::testing::Test {
 protected:
  Result<std::vector<YarnCluster>> read(std::vector<Error>* invalid = nullptr) {
    HadoopFolder folder;
    folder.path = "/conf";
    folder.list = [&](const std::string&) -> Result<std::vector<std::string>> {
      std::vector<std::string> names = {".", "..", "..data", "..2026_01_01"};
      for (const auto& [path, text] : files) names.push_back(path.substr(path.rfind('/') + 1));
      return names;
    };
    folder.read = [&](const std::string& path, std::size_t) -> Result<std::string> {
      const auto found = files.find(path);
      if (found == files.end()) return fail(ErrorKind::kNotFound, path, ": no such file");
      return found->second;
    };
    return read_clusters(folder, {.real_user = "me", .effective_user = ""}, invalid);
  }
  std::map<std::string, std::string> files;
};

TEST_F(ClustersTest, ReadsTheDefaultClusterAndPrefixedClusters) {
  files = {{"/conf/yarn-site.xml", site("one")},
           {"/conf/blue.yarn-site.xml", site("${color}")},
           {"/conf/blue.core-site.xml",
            "<configuration><property><name>color</name><value>two</value></property></configuration>"},
           {"/conf/green.yarn-site.xml", site("three")}};
  const auto clusters = read();
  ASSERT_TRUE(clusters) << clusters.error().message;
  ASSERT_EQ(clusters->size(), 3U);
  EXPECT_EQ((*clusters)[0].id, "__default_yarn_cluster__");
  EXPECT_EQ((*clusters)[0].managers.members[0].admin.text(), "one:8033");
  EXPECT_EQ((*clusters)[0].managers.identity.real_user, "me");
  EXPECT_EQ((*clusters)[1].id, "blue");
  EXPECT_EQ((*clusters)[1].managers.members[0].client.text(), "two:8032");
  EXPECT_EQ((*clusters)[2].id, "green");
}

TEST_F(ClustersTest, ReadsKerberosForEachCluster) {
  const std::string core =
      "<configuration><property><name>hadoop.security.authentication</name><value>kerberos</value></property>"
      "<property><name>yarn.resourcemanager.principal</name><value>rm/_HOST@R</value></property></configuration>";
  files = {{"/conf/yarn-site.xml", site("one")},
           {"/conf/blue.yarn-site.xml", site("two")},
           {"/conf/blue.core-site.xml", core}};
  auto clusters = read();
  ASSERT_TRUE(clusters) << clusters.error().message;
  EXPECT_FALSE((*clusters)[0].managers.security);
  ASSERT_TRUE((*clusters)[1].managers.security);
  EXPECT_EQ((*clusters)[1].managers.security->server.principal, "rm/_HOST@R");
  files["/conf/blue.core-site.xml"] =
      "<configuration><property><name>hadoop.security.authentication</name><value>ldap"
      "</value></property></configuration>";
  clusters = read();
  ASSERT_FALSE(clusters);
  EXPECT_EQ(clusters.error().message,
            "cluster blue: /conf/blue.core-site.xml: hadoop.security.authentication must be simple or kerberos, found "
            "\"ldap\"");
}

TEST_F(ClustersTest, ReadsSmallestContainerOfTheScheduler) {
  const auto with = [&](const std::string& value) {
    files = {
        {"/conf/yarn-site.xml", "<configuration><property><name>yarn.scheduler.minimum-allocation-mb</name><value>" +
                                    value + "</value></property></configuration>"}};
    return read();
  };
  const auto clusters = with("256");
  ASSERT_TRUE(clusters) << clusters.error().message;
  EXPECT_EQ((*clusters)[0].smallest, (hadoop::Resource{256, 1, {}}));
  EXPECT_EQ(with("much").error().message,
            "cluster __default_yarn_cluster__: /conf/yarn-site.xml: yarn.scheduler.minimum-allocation-mb must be a "
            "number, found \"much\"");
}

TEST_F(ClustersTest, ReadsTheClassOfEachCluster) {
  const auto saying = [](const std::string& name) {
    return "<configuration><property><name>tidemark.class</name><value>" + name + "</value></property></configuration>";
  };
  files = {{"/conf/yarn-site.xml", site("one")},
           {"/conf/blue.yarn-site.xml", site("two")},
           {"/conf/blue.core-site.xml", saying(" spark ")},
           {"/conf/green.yarn-site.xml", site("three")},
           {"/conf/green.core-site.xml", saying("")}};
  const auto clusters = read();
  ASSERT_TRUE(clusters) << clusters.error().message;
  EXPECT_EQ((*clusters)[0].work_class, "");
  EXPECT_EQ((*clusters)[1].work_class, "spark");
  EXPECT_EQ((*clusters)[1].class_place, "/conf/blue.core-site.xml");
  EXPECT_EQ((*clusters)[2].work_class, "");
  files["/conf/blue.core-site.xml"] = saying("Spark jobs");
  EXPECT_EQ(
      read().error().message,
      "cluster blue: /conf/blue.core-site.xml: tidemark.class: wanted up to 63 lower-case letters, digits or '-', "
      "with a letter or digit at both ends, found \"Spark jobs\"");
}

TEST_F(ClustersTest, AllowsNoDefaultCluster) {
  files = {{"/conf/blue.yarn-site.xml", site("two")}};
  const auto clusters = read();
  ASSERT_TRUE(clusters) << clusters.error().message;
  ASSERT_EQ(clusters->size(), 1U);
  EXPECT_EQ((*clusters)[0].id, "blue");
}

TEST_F(ClustersTest, AnInvalidFileStopsOnlyItsOwnCluster) {
  files = {{"/conf/yarn-site.xml", site("one")},
           {"/conf/blue.yarn-site.xml", "<configuration>"},
           {"/conf/green.yarn-site.xml", site("three")}};
  std::vector<Error> invalid;
  auto clusters = read(&invalid);
  ASSERT_TRUE(clusters) << clusters.error().message;
  ASSERT_EQ(clusters->size(), 2U);
  EXPECT_EQ((*clusters)[1].id, "green");
  ASSERT_EQ(invalid.size(), 1U);
  EXPECT_EQ(invalid[0].message, "/conf/blue.yarn-site.xml:1: no element found");
  files = {{"/conf/blue.yarn-site.xml", "<configuration>"}};
  invalid.clear();
  EXPECT_EQ(read(&invalid).error().message, "/conf/blue.yarn-site.xml:1: no element found");
}

TEST_F(ClustersTest, NamesInvalidAndMissingFiles) {
  EXPECT_EQ(read().error().message, "/conf: neither yarn-site.xml nor a file CLUSTER.yarn-site.xml");
  files = {{"/conf/yarn-site.xml", site("one")}, {"/conf/blue.yarn-site.xml", "<configuration>"}};
  EXPECT_EQ(read().error().message, "/conf/blue.yarn-site.xml:1: no element found");
  files["/conf/blue.yarn-site.xml"] = site("a b");
  EXPECT_EQ(read().error().message,
            "cluster blue: a default: yarn.resourcemanager.address: an address is HOST:PORT, found \"a b:8032\"");
}

}  // namespace
}  // namespace tidemark::yarn_operator
