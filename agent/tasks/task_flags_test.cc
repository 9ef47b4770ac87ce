#include "agent/tasks/task_flags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tidemark::agent {
namespace {

Result<NodeTasksConfig> parse(const std::vector<std::string>& arguments) {
  TaskFlags options;
  base::Flags flags("tidemark agent", "test");
  options.add_to(flags);
  auto parsed = flags.parse(
      arguments, [](std::string_view) { return std::nullopt; },
      [](std::string_view) -> Result<std::string> { return fail(ErrorKind::kNotFound, "none"); });
  if (!parsed) return fail(std::move(parsed).error());
  return options.config("n1");
}

std::string wrong(const std::vector<std::string>& arguments) {
  const auto config = parse(arguments);
  return config ? std::string("accepted") : config.error().message;
}

TEST(TaskFlags, DefaultIsVerifiedLocalKubelet) {
  const auto config = parse({});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->node_name, "n1");
  EXPECT_EQ(config->pods, NodeTasksConfig::Pods::kKubelet);
  EXPECT_EQ(config->kubelet.url.scheme, "https");
  EXPECT_EQ(config->kubelet.url.host, "127.0.0.1");
  EXPECT_EQ(config->kubelet.url.port, 10250);
  EXPECT_FALSE(config->kubelet.tls.skip_verification);
  EXPECT_EQ(config->groups.kubelet_root, "/");
  EXPECT_EQ(config->groups.driver, std::nullopt);
  EXPECT_TRUE(config->copilots.empty());
}

TEST(TaskFlags, AllOfThem) {
  const auto config =
      parse({"--pod-source=api-server", "--kubelet-endpoint=https://10.0.0.1:10250", "--kubelet-ca-file=/ca",
             "--kubelet-server-name=n1", "--kubelet-cgroup-root=/test/", "--cgroup-driver=systemd",
             "--copilot=/run/a=b.sock=kubepods/besteffort/hadoop-yarn/,/run/c.sock=c", "--copilot=/run/c.sock=/d"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->pods, NodeTasksConfig::Pods::kApiServer);
  EXPECT_EQ(config->kubelet.tls.ca.file, "/ca");
  EXPECT_EQ(config->kubelet.tls.server_name, "n1");
  EXPECT_EQ(config->groups.kubelet_root, "/test");
  EXPECT_EQ(config->groups.driver, linux::CgroupDriver::kSystemd);
  ASSERT_EQ(config->copilots.size(), 2u);
  EXPECT_EQ(config->copilots[0].socket, "/run/a=b.sock");
  EXPECT_EQ(config->copilots[0].parents, std::vector<std::string>{"kubepods/besteffort/hadoop-yarn"});
  EXPECT_EQ(config->copilots[1].parents, (std::vector<std::string>{"c", "d"}));
}

TEST(TaskFlags, ErrorNamesTheFlag) {
  EXPECT_NE(wrong({"--kubelet-endpoint=10250"}).find("--kubelet-endpoint"), std::string::npos);
  EXPECT_NE(wrong({"--kubelet-cgroup-root=../x"}).find("leads up"), std::string::npos);
  EXPECT_NE(wrong({"--kubelet-ca-file=/x", "--kubelet-insecure-skip-tls-verify"}).find("one of them"),
            std::string::npos);
  EXPECT_NE(wrong({"--copilot=/run/a.sock"}).find("wanted SOCKET=GROUP"), std::string::npos);
  EXPECT_NE(wrong({"--copilot=a.sock=x"}).find("an absolute path"), std::string::npos);
  EXPECT_NE(wrong({"--copilot=/run/a.sock=/"}).find("the root"), std::string::npos);
  EXPECT_NE(wrong({"--copilot=/run/a.sock=x/../.."}).find("leads up"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::agent
