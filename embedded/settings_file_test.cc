#include "embedded/settings_file.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tidemark::embedded {
namespace {

constexpr std::string_view kSpace = "koordinator-system";

std::string wrong(std::string_view text) {
  const auto read = read_settings(text, kSpace);
  return read ? "nothing" : read.error().message;
}

TEST(SettingsFile, OneOrBothConfigMapsInAnyOrder) {
  const auto read = read_settings(R"(kind: ConfigMap
metadata: {name: tidemark-config, namespace: koordinator-system}
data: {config.yaml: "schema: 1"}
---
kind: ConfigMap
metadata: {name: slo-controller-config, labels: {a: b}}
data: {colocation-config: '{"enable":true}'}
)",
                                  kSpace);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].text_at("data", "config.yaml"), "schema: 1");
  EXPECT_EQ((*read)[1].text_at("metadata", "name"), "slo-controller-config");
  EXPECT_TRUE(read_settings("", kSpace)->empty());
}

TEST(SettingsFile, NamesPlaceOfError) {
  EXPECT_EQ(wrong("kind: Secret"), "document 1: wanted a ConfigMap, found \"Secret\"");
  EXPECT_EQ(wrong("kind: ConfigMap\nmetadata: {name: other}"),
            "document 1: wanted one of slo-controller-config and tidemark-config, found \"other\"");
  EXPECT_EQ(wrong("kind: ConfigMap\nmetadata: {name: tidemark-config, namespace: default}\ndata: {}"),
            "document 1: settings are in the namespace koordinator-system, not in \"default\"");
  EXPECT_EQ(wrong("kind: ConfigMap\nmetadata: {name: tidemark-config}"), "document 1: tidemark-config has no data");
  EXPECT_EQ(wrong("kind: ConfigMap\nmetadata: {name: tidemark-config}\ndata: {}\n---\n"
                  "kind: ConfigMap\nmetadata: {name: tidemark-config}\ndata: {}\n"),
            "document 2: tidemark-config is there twice");
  EXPECT_NE(wrong("a: [").find("line"), std::string::npos);
}

TEST(SettingsFile, ReportsMissingFile) {
  EXPECT_TRUE(check_settings("", kSpace)) << "none is wanted";
  EXPECT_EQ(check_settings("/no/such/file", kSpace).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace tidemark::embedded
