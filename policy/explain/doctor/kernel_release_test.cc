#include "policy/explain/doctor/kernel_release.h"

#include <gtest/gtest.h>

namespace tidemark::policy::explain {
namespace {

KernelRelease of(std::string_view text) {
  const auto release = parse_kernel_release(text);
  EXPECT_TRUE(release) << text;
  return release.value_or(KernelRelease{});
}

TEST(KernelRelease, ReadsTheNumbersAtTheFront) {
  EXPECT_EQ(of("6.1.0-18-amd64"), (KernelRelease{6, 1, false}));
  EXPECT_EQ(of("5.15"), (KernelRelease{5, 15, false}));
  EXPECT_EQ(of("4.18.0-553.el8_10.x86_64"), (KernelRelease{4, 18, false}));
}

TEST(KernelRelease, RecognizesVendorsWithTheirOwnKnob) {
  for (const char* text : {"5.10.134-13.an8.x86_64", "4.19.91-26.al7.x86_64", "5.10.0-60.18.0.50.oe2203.aarch64"}) {
    EXPECT_TRUE(of(text).own_priority) << text;
    EXPECT_TRUE(of(text).has_priority()) << text;
  }
  for (const char* text : {"5.10.134-android12-x86", "5.10.0-oem", "5.10.0-an", "5.10.0-alpine"}) {
    EXPECT_FALSE(of(text).own_priority) << text;
  }
}

// cpu.idle came with 5.15.
TEST(KernelRelease, KnowsFeaturesByVersion) {
  EXPECT_FALSE(of("5.14.21").has_priority());
  EXPECT_TRUE(of("5.15.0").has_priority());
  EXPECT_TRUE(of("6.0").has_priority());
}

TEST(KernelRelease, AnolisHasPressureEarlier) {
  const struct {
    const char* release;
    bool has;
  } rows[] = {
      {"4.19.81-17.al7.x86_64", true},
      {"4.19.91-26.an7.x86_64", true},
      {"4.19.91-26.an8.aarch64", true},
      {"4.18.0-305.an8.x86_64", false},
      {"4.18.0-553.el8_10.x86_64", false},  // only with psi=1, which the release does not show
      {"4.19.90-2003.4.0.0036.oe1.x86_64", false},
      {"4.19.90", false},
      {"3.10.0-1160.el7.x86_64", false},
      {"4.20.0", true},
      {"5.0", true},
  };
  for (const auto& row : rows) EXPECT_EQ(of(row.release).has_pressure(), row.has) << row.release;
}

TEST(KernelRelease, RefusesReleaseWithoutTwoNumbers) {
  for (const char* text : {"", "6", "6.", ".1", "six.1", "-6.1", "6.-1", "v6.1", "99999999999999999999.1"}) {
    EXPECT_EQ(parse_kernel_release(text), std::nullopt) << text;
  }
}

TEST(KubernetesMinor, OfVersionOneOnly) {
  EXPECT_EQ(kubernetes_minor("v1.31.4+k3s1"), 31);
  EXPECT_EQ(kubernetes_minor("1.9"), 9);
  for (const char* text : {"", "v", "v1", "v1.", "v1.x", "v2.1", "v1.-3"}) {
    EXPECT_EQ(kubernetes_minor(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tidemark::policy::explain
