#include "hadoop/site.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "hadoop/yarn_site.h"

namespace tidemark::hadoop {
namespace {

std::string property(const std::string& name, const std::string& value, const std::string& more = "") {
  return "<property><name>" + name + "</name><value>" + value + "</value>" + more + "</property>\n";
}
std::string configuration(const std::string& content) {
  return "<?xml version=\"1.0\"?>\n<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">\n" + content +
         "</configuration>\n";
}

class SiteTest : public ::testing::Test {
 protected:
  Result<void> add(const std::string& path) {
    return site.add(path, [&](const std::string& name, std::size_t) -> Result<std::string> {
      const auto found = files.find(name);
      if (found == files.end()) return fail(ErrorKind::kNotFound, name, ": no such file");
      return found->second;
    });
  }
  std::string text(const std::string& name) {
    const auto found = site.text(name);
    if (!found) return found.error().message;
    return found->value_or("(not set)");
  }

  std::map<std::string, std::string> files;
  std::map<std::string, std::string> environment;
  Site site{[this](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  }};
};

TEST_F(SiteTest, LaterFileOverridesUnlessFinal) {
  files["/c/core-site.xml"] = configuration(property("a", "1") + property("b", "1", "<final>true</final>"));
  files["/c/yarn-site.xml"] = configuration(property("a", "2") + property("b", "2"));
  ASSERT_TRUE(add("/c/core-site.xml"));
  ASSERT_TRUE(add("/c/yarn-site.xml"));
  EXPECT_EQ(text("a"), "2");
  EXPECT_EQ(text("b"), "1");
  EXPECT_EQ(text("c"), "(not set)");
  EXPECT_EQ(site.overruled(), std::vector<std::string>{"/c/yarn-site.xml: b is final in /c/core-site.xml"});
  EXPECT_EQ(site.place("a"), "/c/yarn-site.xml");
}

TEST_F(SiteTest, TrimsAndUnescapesValuesAndReadsAttributes) {
  files["/s"] = configuration(property(" a ", "\n  x &amp; <![CDATA[<y>]]>  \n") +
                              "<property name=\"b\" value=\"2\" final=\"true\"/>\n"
                              "<!-- <property><name>c</name><value>3</value></property> -->\n" +
                              property("d", "") + "<property><name>e</name></property>");
  ASSERT_TRUE(add("/s"));
  EXPECT_EQ(text("a"), "x & <y>");
  EXPECT_EQ(text("b"), "2");
  EXPECT_EQ(text("c"), "(not set)");
  EXPECT_EQ(text("d"), "(not set)");
  EXPECT_EQ(text("e"), "(not set)");
}

TEST_F(SiteTest, ReplacesVariablesFromConfigurationAndEnvironment) {
  environment = {{"HOST", "h9"}, {"EMPTY", ""}};
  files["/s"] = configuration(property("host", "${env.HOST}") + property("address", "${host}:${port}") +
                              property("port", "80") + property("inner", "${ad${part}}") + property("part", "dress") +
                              property("unknown", "${host}/${nobody}") + property("o1", "${env.NONE:-x}") +
                              property("o2", "${env.EMPTY:-x}") + property("o3", "${env.EMPTY-x}") +
                              property("o4", "${env.NONE-x-y}") + property("o5", "${env.NONE}") +
                              property("self", "a${self}") + property("space", "${a b}") + property("none", "${}"));
  ASSERT_TRUE(add("/s"));
  EXPECT_EQ(text("address"), "h9:80");
  EXPECT_EQ(text("inner"), "h9:80");
  EXPECT_EQ(text("unknown"), "h9/${nobody}");
  EXPECT_EQ(text("o1"), "x");
  EXPECT_EQ(text("o2"), "x");
  EXPECT_EQ(text("o3"), "");
  EXPECT_EQ(text("o4"), "x-y");
  EXPECT_EQ(text("o5"), "${env.NONE}");
  EXPECT_EQ(text("self"), "a${self}");
  EXPECT_EQ(text("space"), "${a b}");
  EXPECT_EQ(text("none"), "${}");
}

TEST_F(SiteTest, RejectsCyclicVariables) {
  files["/s"] = configuration(property("a", "${b}") + property("b", "${a}"));
  ASSERT_TRUE(add("/s"));
  EXPECT_EQ(text("a"), "/s: a: 20 variables one after another or more in \"${b}\"");
}

TEST_F(SiteTest, ReadsIncludesRelativeToTheirFile) {
  files["/c/yarn-site.xml"] =
      configuration(property("a", "1") + "<xi:include href=\"more/x.xml\"/>" + property("b", "1"));
  files["/c/more/x.xml"] =
      configuration(property("a", "2") + property("b", "2") + "<xi:include href=\"file:///elsewhere.xml\"/>");
  files["/elsewhere.xml"] = configuration(property("c", "3"));
  ASSERT_TRUE(add("/c/yarn-site.xml"));
  EXPECT_EQ(text("a"), "2");
  EXPECT_EQ(text("b"), "1");
  EXPECT_EQ(text("c"), "3");
  EXPECT_EQ(site.place("c"), "/elsewhere.xml");
}

TEST_F(SiteTest, UsesTheFallbackOfAMissingInclude) {
  const std::string include = "<xi:include href=\"x.xml\"><xi:fallback>" + property("a", "fallback") +
                              "<xi:include href=\"y.xml\"><xi:fallback>" + property("b", "fallback") +
                              "</xi:fallback></xi:include>" + property("c", "fallback") + "</xi:fallback></xi:include>";
  files["/missing"] = configuration(include);
  ASSERT_TRUE(add("/missing"));
  EXPECT_EQ(text("a"), "fallback");
  EXPECT_EQ(text("b"), "fallback");
  EXPECT_EQ(text("c"), "fallback");

  site = Site();
  files["/x.xml"] = configuration(property("a", "there"));
  ASSERT_TRUE(add("/missing"));
  EXPECT_EQ(text("a"), "there");
  EXPECT_EQ(text("b"), "(not set)");
  EXPECT_EQ(text("c"), "(not set)");
}

TEST_F(SiteTest, NamesThePlaceInAnInvalidFileAndAddsNothing) {
  files["/s"] = "<configuration>\n" + property("a", "1") + "<property><name>b</name>\n</configuration>\n";
  EXPECT_EQ(add("/s").error().message, "/s:4: mismatched tag");
  EXPECT_EQ(text("a"), "(not set)");

  files["/i"] = configuration("<xi:include href=\"x.xml\"/>");
  const auto missing = add("/i");
  EXPECT_EQ(missing.error().message, "/i:3: /x.xml: no such file");
  files["/i"] = configuration("<xi:include href=\"http://x/y.xml\"/>");
  EXPECT_EQ(add("/i").error().message, "/i:3: only files are included, found \"http://x/y.xml\"");
  files["/i"] = configuration("<xi:include/>");
  EXPECT_EQ(add("/i").error().message, "/i:3: an include without a href");
  files["/round"] = configuration("<xi:include href=\"round\"/>");
  EXPECT_NE(add("/round").error().message.find("more than 10 includes one in another"), std::string::npos);
  files["/wide"] = configuration("<xi:include href=\"wide\"/><xi:include href=\"wide\"/>");
  EXPECT_FALSE(add("/wide"));
  files["/many"] = configuration("");
  std::string includes;
  for (int i = 0; i <= kFilesMax; ++i) includes += "<xi:include href=\"many\"/>";
  files["/i"] = configuration(includes);
  EXPECT_EQ(add("/i").error().message, "/i:3: more than 100 included files");
  EXPECT_EQ(add("/nowhere").error().kind, ErrorKind::kNotFound);
}

TEST_F(SiteTest, RejectsAnEntityBomb) {
  std::string text = "<!DOCTYPE x [<!ENTITY a0 \"" + std::string(1000, 'x') + "\">";
  for (int i = 1; i < 12; ++i) {
    std::string ten;
    for (int k = 0; k < 10; ++k) ten += "&a" + std::to_string(i - 1) + ";";
    text += "<!ENTITY a" + std::to_string(i) + " \"" + ten + "\">";
  }
  files["/s"] = text + "]><configuration>" + property("a", "&a11;") + "</configuration>";
  const auto added = add("/s");
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().message.find("amplification"), std::string::npos) << added.error().message;
}

TEST_F(SiteTest, ReadsBooleans) {
  files["/s"] = configuration(property("a", " TRUE ") + property("b", "false") + property("c", "yes"));
  ASSERT_TRUE(add("/s"));
  EXPECT_TRUE(*site.boolean("a", false));
  EXPECT_FALSE(*site.boolean("b", true));
  EXPECT_TRUE(*site.boolean("d", true));
  EXPECT_EQ(site.boolean("c", true).error().message, "/s: c is true or false, found \"yes\"");
}

class YarnSiteTest : public SiteTest {
 protected:
  Result<RmCluster> read(const std::string& content) {
    files["/s"] = configuration(content);
    set_yarn_defaults(site);
    const auto added = add("/s");
    EXPECT_TRUE(added) << added.error().message;
    return resource_managers(site);
  }
};

TEST_F(YarnSiteTest, ReadsOneResourceManagerByHostnameOrAddresses) {
  auto cluster = read("");
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_EQ(cluster->members.size(), 1U);
  EXPECT_EQ(cluster->members[0].id, "");
  EXPECT_EQ(cluster->members[0].client.text(), "0.0.0.0:8032");
  EXPECT_EQ(cluster->members[0].admin.text(), "0.0.0.0:8033");

  cluster = read(property("yarn.resourcemanager.hostname", "rm.example") +
                 property("yarn.resourcemanager.admin.address", "${yarn.resourcemanager.hostname}:9033"));
  EXPECT_EQ(cluster->members[0].client.text(), "rm.example:8032");
  EXPECT_EQ(cluster->members[0].admin.text(), "rm.example:9033");

  cluster = read(property("yarn.resourcemanager.address", "rm.example"));
  EXPECT_EQ(cluster->members[0].client.text(), "rm.example:8032");
}

TEST_F(YarnSiteTest, ReadsSeveralByAddressesOrHostnames) {
  auto cluster = read(
      property("yarn.resourcemanager.ha.enabled", "true") + property("yarn.resourcemanager.ha.rm-ids", " rm1 , rm2 ") +
      property("yarn.resourcemanager.hostname.rm1", "one") + property("yarn.resourcemanager.address.rm2", "two:1") +
      property("yarn.resourcemanager.admin.address.rm2", "two:2"));
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_EQ(cluster->members.size(), 2U);
  EXPECT_EQ(cluster->members[0].id, "rm1");
  EXPECT_EQ(cluster->members[0].client.text(), "one:8032");
  EXPECT_EQ(cluster->members[0].admin.text(), "one:8033");
  EXPECT_EQ(cluster->members[1].client.text(), "two:1");
  EXPECT_EQ(cluster->members[1].admin.text(), "two:2");
}

TEST_F(YarnSiteTest, NamesMissingAndInvalidKeys) {
  EXPECT_EQ(read(property("yarn.resourcemanager.ha.enabled", "true")).error().message,
            "yarn.resourcemanager.ha.enabled is true, and yarn.resourcemanager.ha.rm-ids names no one");
  EXPECT_EQ(read(property("yarn.resourcemanager.ha.rm-ids", "a")).error().message,
            "ResourceManager \"a\": neither yarn.resourcemanager.address.a nor yarn.resourcemanager.hostname.a is set");
  EXPECT_EQ(read(property("yarn.resourcemanager.hostname.a", "h") + property("yarn.resourcemanager.ha.rm-ids", "a,a"))
                .error()
                .message,
            "yarn.resourcemanager.ha.rm-ids names \"a\" twice");
  site = Site();
  EXPECT_EQ(read(property("yarn.resourcemanager.address", "h:0")).error().message,
            "/s: yarn.resourcemanager.address: an address is HOST:PORT, found \"h:0\"");
}

TEST(ParseAddressTest, HostsAndPorts) {
  EXPECT_EQ(parse_address("h", 5)->text(), "h:5");
  EXPECT_EQ(parse_address("h:80", 5)->port, 80);
  EXPECT_EQ(parse_address("[::1]:80", 5)->host, "::1");
  EXPECT_EQ(parse_address("[::1]", 5)->port, 5);
  for (const std::string_view bad :
       {"", ":80", "h:", "h:x", "h:65536", "h:-1", "[::1", "[::1]x", "[]:1", "a b:1", "::1"}) {
    EXPECT_FALSE(parse_address(bad, 5)) << bad;
  }
}

TEST_F(YarnSiteTest, ReadsKerberosSettings) {
  const auto security = [&](const std::vector<std::pair<std::string, std::string>>& said) {
    std::string content;
    for (const auto& [name, value] : said) content += property(name, value);
    site = Site();
    EXPECT_TRUE(read(content));
    return security_of(site);
  };
  using enum Protection;
  const std::pair<std::string, std::string> on{"hadoop.security.authentication", "kerberos"};
  const std::pair<std::string, std::string> rm{"yarn.resourcemanager.principal", "rm/_HOST@R"};
  EXPECT_EQ(security({}), std::nullopt);
  EXPECT_EQ(security({rm, {"hadoop.security.authentication", "SIMPLE"}}), std::nullopt);
  EXPECT_EQ(security({on, rm}), (Security{{"rm/_HOST@R", ""}, {kAuthentication}}));
  EXPECT_EQ(security({on, rm, {"hadoop.rpc.protection", "privacy, integrity"}}),
            (Security{{"rm/_HOST@R", ""}, {kPrivacy, kIntegrity}}));
  EXPECT_EQ(security({on, {"yarn.resourcemanager.principal.pattern", "rm/*@R"}}),
            (Security{{"", "rm/*@R"}, {kAuthentication}}));
  EXPECT_EQ(security({on}).error().message,
            "/s: hadoop.security.authentication is kerberos, and yarn.resourcemanager.principal is not set: give the "
            "server's principal, such as rm/_HOST@REALM");
  EXPECT_EQ(security({{on.first, "KERBEROS5"}}).error().message,
            "/s: hadoop.security.authentication must be simple or kerberos, found \"KERBEROS5\"");
  EXPECT_EQ(security({on, rm, {"hadoop.rpc.protection", "auth"}}).error().message,
            "/s: hadoop.rpc.protection: \"auth\" is not one of authentication, integrity, privacy");
}

}  // namespace
}  // namespace tidemark::hadoop
