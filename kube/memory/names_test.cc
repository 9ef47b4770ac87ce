#include "kube/memory/names.h"

#include <gtest/gtest.h>

namespace tidemark::kube::memory {
namespace {

TEST(Names, DnsLabelAndSubdomain) {
  for (const char* good : {"a", "a-b", "1a", "123"}) EXPECT_EQ(dns_label_error(good), "") << good;
  for (const char* bad : {"", "-a", "a-", "A", "a.b", "a_b"}) EXPECT_NE(dns_label_error(bad), "") << bad;
  EXPECT_EQ(dns_label_error(std::string(63, 'a')), "");
  EXPECT_EQ(dns_label_error(std::string(64, 'a')), "must be no more than 63 characters");
  EXPECT_NE(dns_1035_label_error("1a"), "");
  for (const char* good : {"a", "a.b-c.1"}) EXPECT_EQ(dns_subdomain_error(good), "") << good;
  for (const char* bad : {"", ".a", "a.", "a..b", "a/b", "A.b"}) EXPECT_NE(dns_subdomain_error(bad), "") << bad;
  EXPECT_NE(dns_subdomain_error(std::string(254, 'a')), "");
}

TEST(Names, LabelsAndKeys) {
  for (const char* good : {"a", "A.b_c-d", "x.io/a", "tidemark.io/class"})
    EXPECT_EQ(qualified_name_error(good), "") << good;
  for (const char* bad : {"", "/a", "x.io/", "x/y/z", "X.io/a", "-a", "a b"})
    EXPECT_NE(qualified_name_error(bad), "") << bad;
  for (const char* good : {"", "a", "A_b.c"}) EXPECT_EQ(label_value_error(good), "") << good;
  for (const char* bad : {"-a", "a-", "a b", "a/b"}) EXPECT_NE(label_value_error(bad), "") << bad;
  EXPECT_NE(label_value_error(std::string(64, 'a')), "");
  EXPECT_EQ(config_key_error("slo-controller.yaml"), "");
  for (const char* bad : {"", ".", "..", "..a", "a/b", "a b"}) EXPECT_NE(config_key_error(bad), "") << bad;
}

}  // namespace
}  // namespace tidemark::kube::memory
