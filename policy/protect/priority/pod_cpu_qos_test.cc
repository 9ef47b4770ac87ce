#include "policy/protect/priority/pod_cpu_qos.h"

#include <gtest/gtest.h>

namespace tidemark::policy::protect {
namespace {

// Contract 1.4: a groupIdentity outside [-1,2] is an error, bvt is not written; enable absent or false means bvt 0.
TEST(PodCpuQos, FollowsTheContract) {
  EXPECT_EQ(*parse_pod_cpu_qos(R"({"enable":true,"groupIdentity":1})"), CpuPriority::kOnlineLow);
  EXPECT_EQ(*parse_pod_cpu_qos(R"({"groupIdentity":-1,"enable":true})"), CpuPriority::kOffline);
  EXPECT_EQ(*parse_pod_cpu_qos(R"({"enable":true,"groupIdentity":2,"more":[{}]})"), CpuPriority::kOnline);
  EXPECT_EQ(*parse_pod_cpu_qos(R"({"enable":false,"groupIdentity":1})"), CpuPriority::kPlain);
  EXPECT_EQ(*parse_pod_cpu_qos(R"({"groupIdentity":1})"), CpuPriority::kPlain);
  EXPECT_EQ(*parse_pod_cpu_qos(R"({"enable":true})"), CpuPriority::kPlain);
  EXPECT_EQ(*parse_pod_cpu_qos(R"({"enable":null,"groupIdentity":null})"), CpuPriority::kPlain);
}

TEST(PodCpuQos, RejectsUnreadableTextWithThePlace) {
  for (const char* text : {R"({"enable":true,"groupIdentity":3})", R"({"enable":true,"groupIdentity":-2})",
                           R"({"groupIdentity":9})", R"({"enable":"true"})", R"({"groupIdentity":1.5})", "{", "", "1",
                           R"({"enable":true} x)", R"({"groupIdentity":99999999999999999999})"}) {
    const auto read = parse_pod_cpu_qos(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message.find("byte"), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace tidemark::policy::protect
