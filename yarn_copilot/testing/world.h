// The whole copilot through its socket, between a scripted NodeManager and a directory that emulates the machine.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "copilot/client.h"
#include "linux/testing/kill_folder.h"
#include "linux/testing/tree.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/testing/http.h"
#include "net/testing/loop.h"
#include "yarn_copilot/machine.h"
#include "yarn_copilot/yarn_copilot.h"

namespace tidemark::yarn_copilot::testing {

using namespace std::chrono_literals;

inline constexpr std::string_view kMaster = "container_1700000000000_0001_01_000001";
inline constexpr std::string_view kTask = "container_1700000000000_0001_01_000002";
inline constexpr std::string_view kOther = "container_1700000000000_0001_01_000003";
inline constexpr std::string_view kEnded = "container_1700000000000_0001_01_000004";
inline constexpr base::Duration kLimit = 30s;

inline std::string said(std::string_view id, std::string_view state, int memory_mib = 1024, int vcores = 1) {
  return base::cat(R"({"id":")", id, R"(","state":")", state, R"(","user":"ada","totalMemoryNeededMB":)", memory_mib,
                   R"(,"totalVCoresNeeded":)", vcores, "}");
}

struct World : ::testing::Test {
  World() {
    linux::testing::make_v1(groups);
    for (const std::string_view id : {kMaster, kTask, kOther}) add_group(id);
    tell({said(kMaster, "RUNNING"), said(kTask, "RUNNING", 2048, 2), said(kOther, "RUNNING"),
          said(kEnded, "EXITED_WITH_SUCCESS")});
    proc.folder("self");
    net::HttpServerConfig config;
    config.listen = "127.0.0.1:0";
    const auto handler = [this](net::HttpExchange& exchange) { return answer(exchange); };
    node_manager = net::HttpServer::listen(loop, log, config, handler).value();
    options.socket = groups.path("run/yarn/copilot.sock");
    options.node_manager = node_manager->address();
    options.cgroup_root = groups.root();
    options.proc_root = proc.root();
    options.list_age = 0s;
    options.ends_interval = 1h;
  }
  ~World() override {
    client.reset();
    copilot.reset();
    node_manager.reset();
  }

  static std::string group_of(std::string_view id) { return base::cat(kDefaultGroup, "/", id); }
  void add_group(std::string_view id) {
    const std::string group = group_of(id);
    linux::testing::make_v1_group(groups, group);
    groups.write("cpu/" + group + "/cpu.cfs_quota_us", "-1\n");
    groups.write("cpu/" + group + "/cpu.cfs_period_us", "100000\n");
    groups.write("cpuacct/" + group + "/cpuacct.usage", "7000\n");
    groups.write("memory/" + group + "/memory.limit_in_bytes", "9223372036854771712\n");
    groups.write("memory/" + group + "/memory.usage_in_bytes", "5000\n");
    groups.write("memory/" + group + "/memory.stat", "total_cache 1\ntotal_rss 2\ntotal_inactive_file 1000\n");
  }
  void add_process(pid_t pid, std::string_view id, std::int64_t start_ticks = 100) {
    killing.add(pid, {"cpu/" + group_of(id), "cpuacct/" + group_of(id), "memory/" + group_of(id)});
    proc.write(base::cat(pid, "/stat"), base::cat(pid, " (java) S 1 ", pid, " ", pid,
                                                  " 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 ", start_ticks, " 0 10\n"));
    proc.write(base::cat(pid, "/environ"), "");
  }
  void tell(const std::vector<std::string>& containers) {
    list = R"({"containers":{"container":[)";
    for (const std::string& each : containers) list += base::cat(each == containers.front() ? "" : ",", each);
    list += "]}}";
  }
  net::Task<void> answer(net::HttpExchange& exchange) {
    ++asked;
    if (hangs) co_await loop.sleep(1h);
    exchange.respond(away ? 503 : 200, "application/json", list);
  }

  void start() {
    auto made = YarnCopilot::make(
        loop, {killing, workers, [this](model::AuditLine line) { audit.push_back(line); }, managers, 1}, log, metrics,
        options);
    ASSERT_TRUE(made) << made.error().message;
    copilot = *std::move(made);
    client = std::make_unique<net::HttpClient>(loop, nullptr, copilot::socket_config(options.socket).value());
  }
  copilot::Client api() { return copilot::Client(*client); }
  template <class T>
  T run(net::Task<T> task) {
    return net::testing::run_task(loop, std::move(task));
  }
  net::HttpResponse get(std::string target) {
    return run(client->fetch(net::testing::get_request(std::move(target)), kLimit)).value();
  }
  net::HttpResponse post(std::string target, std::string body) {
    return run(client->fetch(net::testing::post_request(std::move(target), std::move(body)), kLimit)).value();
  }
  std::string error_of(const net::HttpResponse& response) {
    const auto body = Json::parse(response.body);
    return body ? std::string(body->text_at("error")) : response.body;
  }
  std::vector<std::string> names(const Result<copilot::ContainerList>& listed) {
    std::vector<std::string> out;
    if (!listed) return {listed.error().message};
    for (const auto& each : listed->containers) out.push_back(each.name);
    return out;
  }
  std::string content(std::string_view file) {
    std::ifstream in(groups.path(file));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  std::string of(std::string_view id, std::string_view more = {}) {
    return base::cat(R"({"containerID":")", id, "\"", more, "}");
  }

  base::SystemClock clock;
  std::string lines;
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  base::Registry metrics;
  linux::testing::Tree groups, proc;
  linux::testing::KillFolder killing{groups};
  net::EventLoop loop{clock};
  net::WorkerPool workers{1, 4};
  std::string list;
  bool hangs = false, away = false;
  int asked = 0;
  CopilotOptions options;
  std::vector<model::AuditLine> audit;
  std::optional<hadoop::RmCluster> managers;
  std::unique_ptr<net::HttpServer> node_manager;
  std::unique_ptr<YarnCopilot> copilot;
  std::unique_ptr<net::HttpClient> client;
};

}  // namespace tidemark::yarn_copilot::testing
