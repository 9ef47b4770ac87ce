#include "yarn_copilot/yarn_copilot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "hadoop/testing/rpc_server.h"
#include "hadoop/wire.h"
#include "yarn_copilot/testing/world.h"

namespace tidemark::yarn_copilot {
namespace {

using namespace std::chrono_literals;
using testing::kEnded;
using testing::kLimit;
using testing::kMaster;
using testing::kOther;
using testing::kTask;
using testing::said;
using testing::World;

TEST_F(World, ListsContainersInKoordinatorFormat) {
  add_process(10, kTask, 500);
  start();
  EXPECT_EQ(get("/health").status, 200);
  EXPECT_EQ(run(api().information(kLimit)).value(), (copilot::Information{"yarn", "v1"}));
  const auto listed = run(api().containers(kLimit));
  EXPECT_EQ(names(listed), (std::vector<std::string>{std::string(kMaster), std::string(kTask), std::string(kOther)}));
  const copilot::Container& task = listed->containers[1];
  EXPECT_EQ(task.ns, "yarn");
  EXPECT_EQ(task.group, group_of(kTask));
  EXPECT_EQ(task.requests.native.cpu, model::CpuMilli{2000});
  EXPECT_EQ(task.label("tidemark.io/user"), "ada");
  EXPECT_TRUE(task.created) << "as old as its oldest process";
  EXPECT_FALSE(listed->containers[2].created) << "it has no processes";

  EXPECT_EQ(run(api().container(std::string(kEnded), kLimit))->name, kEnded);
  EXPECT_EQ(get("/v1/container?containerID=container_1_1_1_1").status, 400);
  EXPECT_EQ(get("/v1/container").status, 400);
  tell({});
  EXPECT_EQ(get("/v1/containers").body, "[]");
  EXPECT_EQ(get("/nothing").status, 404);
}

TEST_F(World, UsesTheCpuValueOfAVcore) {
  options.millicores_per_vcore = 500;
  for (const auto& [pid, id] : {std::pair(10, kTask), std::pair(11, kOther)}) add_process(pid, id);
  start();
  const auto listed = run(api().containers(kLimit));
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->containers[1].requests.batch.cpu, model::CpuMilli{1000});
  EXPECT_EQ(listed->containers[1].requests.native.cpu, model::CpuMilli{2000});
  const auto killed = run(api().kill_by_resource({{1500}, {1 << 20}}, kLimit));
  ASSERT_TRUE(killed) << killed.error().message;
  EXPECT_EQ(killed->size(), 2u) << "two vcores and one are a core and a half";
}

TEST_F(World, ReportsAnUnreachableNodeManager) {
  start();
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return asked > 0; }));
  away = true;
  const auto refused = get("/v1/containers");
  EXPECT_EQ(refused.status, 400);
  EXPECT_TRUE(error_of(refused).contains("it answered 503")) << refused.body;
  EXPECT_EQ(get("/tidemark/v1/containers").status, 503);
  EXPECT_EQ(copilot->not_ready(), base::cat("the NodeManager at ", options.node_manager, " does not answer"));
  EXPECT_EQ(get("/health").status, 200) << "this process is alive";
  away = false;
  EXPECT_EQ(get("/v1/containers").status, 200);
  EXPECT_EQ(copilot->not_ready(), "");
}

TEST_F(World, LimitsTheWaitForANodeManagerThatHangs) {
  options.node_manager_limit = 100ms;
  hangs = true;
  start();
  EXPECT_EQ(get("/v1/containers").status, 400);
}

TEST_F(World, CombinesManyRequestsIntoOne) {
  options.list_age = 1h;
  start();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get("/v1/containers").status, 200);
  EXPECT_EQ(asked, 1);
}

TEST_F(World, KillsTheWholeCgroupAndNothingElse) {
  for (const pid_t pid : {10, 11}) add_process(pid, kTask);
  add_process(12, kOther);
  start();
  const auto killed = run(api().kill(std::string(kTask), kLimit));
  ASSERT_TRUE(killed) << killed.error().message;
  EXPECT_EQ(killed->name, kTask);
  EXPECT_EQ(killing.processes.size(), 1u);
  EXPECT_TRUE(killing.processes.contains(12));
  ASSERT_EQ(audit.size(), 1u);
  EXPECT_EQ(audit[0].verb, "kill");
  EXPECT_EQ(audit[0].name, kTask);
  EXPECT_EQ(audit[0].new_value, R"({"by":"group","processes":2})");
  EXPECT_TRUE(audit[0].actor.starts_with(base::cat("yarn-copilot for uid ", ::getuid(), " pid "))) << audit[0].actor;

  const auto again = post("/v1/killContainer", of(kTask));
  EXPECT_EQ(again.status, 400);
  EXPECT_EQ(error_of(again), base::cat("no process on this machine belongs to container ", kTask));
}

TEST_F(World, KillsWhileTheNodeManagerIsAway) {
  add_process(10, kTask);
  away = true;
  start();
  EXPECT_TRUE(run(api().kill(std::string(kTask), kLimit)));
  EXPECT_TRUE(killing.processes.empty());
}

TEST_F(World, KillsWithoutWaitingForANodeManagerThatHangs) {
  add_process(10, kTask);
  options.node_manager_limit = 1h;
  start();
  ASSERT_EQ(get("/v1/containers").status, 200);
  hangs = true;
  EXPECT_EQ(run(api().kill(std::string(kTask), kLimit))->requests.native.cpu, model::CpuMilli{2000});
  EXPECT_TRUE(killing.processes.empty());
}

TEST_F(World, LooksUpOnlyYarnNames) {
  add_process(10, kTask);
  start();
  for (const std::string_view id : {"..", "../../pod1", "", "container_1_1_1_1"}) {
    EXPECT_EQ(post("/v1/killContainer", of(id)).status, 400) << id;
    EXPECT_NE(post("/tidemark/v1/stop", of(id)).status, 202) << id;
  }
  EXPECT_EQ(post("/v1/killContainer", "nothing").status, 400);
  EXPECT_EQ(killing.processes.size(), 1u);
}

TEST_F(World, HandlesAContainerWithoutCgroupByItsProcesses) {
  groups.remove("cpu/" + group_of(kTask));
  for (const char* name : {"cpuacct", "cpuset", "memory", "blkio", "pids", "freezer"}) {
    groups.remove(base::cat(name, "/", group_of(kTask)));
  }
  killing.add(20, {});
  proc.write("20/stat", "20 (java) S 1 20 20 0 -1 0 0 0 0 0 300 100 0 0 20 0 1 0 500 0 10\n");
  proc.write("20/environ", base::cat("CONTAINER_ID=", kTask, std::string(1, '\0')));
  start();
  const auto all = Json::parse(get("/tidemark/v1/containers").body).value();
  const Json& task = all.at("containers")->as_array()[1];
  EXPECT_EQ(task.text_at("id"), kTask);
  EXPECT_TRUE(task.at("group")->is_null());
  EXPECT_EQ(task.at("use", "processes")->as_int(), 1);
  EXPECT_EQ(task.at("use", "memoryBytes")->as_int(), 10 * ::sysconf(_SC_PAGESIZE));
  EXPECT_EQ(task.at("use", "cpuNanoseconds")->as_int(), 400 * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));

  EXPECT_EQ(post("/tidemark/v1/limits", of(kTask, R"(,"cpu":"1")")).status, 404) << "cannot limit without a cgroup";
  const auto stopped = post("/tidemark/v1/stop", of(kTask, R"(,"graceSeconds":3600)"));
  EXPECT_EQ(stopped.status, 202) << stopped.body;
  EXPECT_TRUE(killing.told.contains(20));
}

TEST_F(World, MakesNoCgroupBeforeTheKubeletMadeItsParent) {
  for (const char* name : {"cpu", "cpuacct", "cpuset", "memory", "blkio", "pids", "freezer"}) {
    groups.remove(base::cat(name, "/kubepods"));
  }
  proc.write("20/stat", "20 (java) S 1 20 20 0 -1 0 0 0 0 0 300 100 0 0 20 0 1 0 500 0 10\n");
  proc.write("20/environ", base::cat("CONTAINER_ID=", kTask, std::string(1, '\0')));
  options.adopt = true;
  start();
  ASSERT_TRUE(
      net::testing::run_real_until(loop, [&] { return lines.contains("cannot move container into its cgroup"); }));
  EXPECT_TRUE(lines.contains("no cgroup \\\"kubepods/besteffort\\\"")) << lines;
  EXPECT_FALSE(std::filesystem::exists(groups.path("cpu/kubepods")));
}

// As a NodeManager in a pod leaves it: in its own cgroups of cpu and memory, and in all other hierarchies in those of
// the pod.
TEST_F(World, MovesAnAdoptedContainerIntoItsCgroupInEveryHierarchy) {
  const std::string pod = "kubepods/burstable/podx/c";
  const std::string group = group_of(kTask), waiting = base::cat(kDefaultGroup, "/", kWaitingGroup);
  const std::vector<std::string> all = {"cpu", "cpuacct", "memory", "blkio", "pids", "freezer", "devices"};
  groups.write("devices/cgroup.procs", "");  // nothing reads it
  groups.remove("cpuset/" + std::string(kDefaultGroup));
  groups.write("cpuset/kubepods/besteffort/cgroup.procs", "");
  for (const std::string& one : all) {
    groups.write(base::cat(one, "/", group, "/cgroup.procs"), "");
    groups.write(base::cat(one, "/", waiting, "/cgroup.procs"), "");
    groups.write(base::cat(one, "/", pod, "/cgroup.procs"), "");
  }
  killing.add(10, {"cpu/" + group, "memory/" + group, "devices/" + pod, "pids/" + pod});
  proc.write("10/stat", "10 (java) S 9 10 10 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 100 0 10\n");
  proc.write("10/environ", "");
  // Its parent waits for it and keeps its exit code; above that is the NodeManager.
  std::string words = base::cat("container-executor nobody nobody 1 application_1700000000000_0001 ", kTask, " /w");
  std::ranges::replace(words, ' ', '\0');
  proc.write("9/stat", "9 (container-exec) S 8 8 8 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 100 0 10\n");
  proc.write("9/cmdline", words);
  proc.write("8/stat", "8 (java) S 1 8 8 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 100 0 10\n");
  proc.write("8/cmdline", base::cat("java", std::string(1, '\0'), "NodeManager", std::string(1, '\0')));
  options.adopt = true;
  start();
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return lines.contains("in its cgroup in every hierarchy"); }))
      << lines;
  ASSERT_TRUE(
      net::testing::run_real_until(loop, [&] { return !content("pids/" + waiting + "/cgroup.procs").empty(); }));
  for (const std::string& one : all) {
    EXPECT_EQ(content(base::cat(one, "/", group, "/cgroup.procs")).substr(0, 2), "10") << one;
    EXPECT_EQ(content(base::cat(one, "/", waiting, "/cgroup.procs")), "9") << one;
  }
  EXPECT_TRUE(content("cpuset/kubepods/besteffort/cgroup.procs").starts_with("9")) << "the last one";
  EXPECT_FALSE(std::filesystem::exists(groups.path("cpuset/" + std::string(kDefaultGroup))))
      << "a cgroup there would keep CPUs that offline work must return";
  EXPECT_EQ(content("memory/" + group + "/memory.limit_in_bytes"), "9223372036854771712\n")
      << "the limits come from its NodeManager";
}

// A controller that is enabled in a kubelet's cgroup applies to all of its pods and is never disabled again.
TEST_F(World, EnablesNoNewControllerAboveItsCgroupOnV2) {
  for (const char* name : {"cpu", "cpuacct", "cpuset", "memory", "blkio", "pids", "freezer"}) groups.remove(name);
  const std::string kubelets = "cpuset cpu memory hugetlb pids\n", parent(kDefaultGroup);
  linux::testing::make_v2(groups, "cpuset cpu io memory hugetlb pids\n");
  groups.write("cgroup.subtree_control", kubelets);
  for (const std::string& each : {std::string("kubepods"), std::string("kubepods/besteffort"), parent}) {
    linux::testing::make_v2_group(groups, "", each);
    groups.write(each + "/cgroup.controllers", kubelets);
    groups.write(each + "/cgroup.subtree_control", each == parent ? "" : kubelets);
  }
  proc.write("20/stat", "20 (java) S 1 20 20 0 -1 0 0 0 0 0 300 100 0 0 20 0 1 0 500 0 10\n");
  proc.write("20/environ", base::cat("CONTAINER_ID=", kTask, std::string(1, '\0')));
  options.adopt = true;
  start();
  // A missing file is reported when the cgroup is made.
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] {
    return lines.contains("cannot move container into its cgroup");
  })) << lines;
  EXPECT_TRUE(std::filesystem::exists(groups.path(group_of(kTask)))) << lines;
  for (const char* each : {"", "kubepods/", "kubepods/besteffort/"}) {
    EXPECT_EQ(content(base::cat(each, "cgroup.subtree_control")), kubelets) << each;
  }
  EXPECT_EQ(content(parent + "/cgroup.subtree_control"), "+cpu +memory +pids");
}

TEST_F(World, ReportsUncountedUsageAsUnset) {
  add_process(10, kTask);
  add_process(11, kOther);
  groups.remove("cpuacct/" + group_of(kTask));  // a NodeManager makes cgroups only for cpu and memory
  start();
  const auto all = Json::parse(get("/tidemark/v1/containers").body).value();
  const Json& task = all.at("containers")->as_array()[1];
  EXPECT_TRUE(task.at("use", "cpuNanoseconds")->is_null());
  EXPECT_EQ(task.at("use", "memoryBytes")->as_int(), 4000) << "without inactive cache";
  EXPECT_EQ(all.at("containers")->as_array()[2].at("use", "cpuNanoseconds")->as_int(), 7000);
}

TEST_F(World, RequestsTagsOfAnApplicationOnce) {
  std::vector<std::string> methods;
  bool silent = true;
  hadoop::testing::RpcServer manager(loop, [&](const hadoop::testing::SeenCall& call) {
    methods.push_back(call.method);
    std::string response;
    hadoop::WireWriter(response).message(1, [](hadoop::WireWriter& report) {
      report.bytes(2, "ada").bytes(3, "root.etl").bytes(18, "SPARK").bytes(20, "tidemark-business:ads");
    });
    return silent ? hadoop::testing::RpcServer::Reply() : hadoop::testing::RpcServer::Reply(response);
  });
  managers = hadoop::RmCluster{{{"", manager.address(), manager.address()}}, {}};
  options.queues = {{"etl", "transcode"}};
  start();
  EXPECT_EQ(run(api().containers(kLimit))->containers[1].label("tidemark.io/class"), "")
      << "the list does not wait for it";
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return !methods.empty(); }));
  copilot.reset();  // while the request is open

  silent = false;
  methods.clear();
  start();
  const auto known = [&] { return get("/tidemark/v1/containers").body.contains(R"("type":"SPARK")"); };
  for (int tries = 0; tries < 1000 && !known(); ++tries) {
  }
  const auto listed = run(api().containers(kLimit));
  EXPECT_EQ(listed->containers[1].label("tidemark.io/class"), "transcode");
  EXPECT_EQ(listed->containers[1].label("tidemark.io/business"), "ads");
  EXPECT_EQ(methods, std::vector<std::string>{"getApplicationReport"}) << "three containers of one application";
}

// Its end was seen first, and only then the class was requested from the ResourceManager.
TEST_F(World, ReportsTroublesWithTheClassOfAnEndedContainer) {
  hadoop::testing::RpcServer manager(loop, [&](const hadoop::testing::SeenCall&) {
    std::string response;
    hadoop::WireWriter(response).message(
        1, [](hadoop::WireWriter& report) { report.bytes(2, "ada").bytes(20, "tidemark-class:etl"); });
    return hadoop::testing::RpcServer::Reply(response);
  });
  managers = hadoop::RmCluster{{{"", manager.address(), manager.address()}}, {}};
  options.ends_interval = 50ms;
  tell({});
  start();
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return asked > 2; }));
  tell({base::cat(R"({"id":")", kTask, R"(","state":"DONE","exitCode":-1000,"diagnostics":"no such file\nat java"})")});
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return lines.contains("container did not start"); }));
  tell({});
  EXPECT_TRUE(lines.contains("why=localization_failed class=etl node_manager_says=\"no such file\"")) << lines;
  EXPECT_TRUE(metrics.text().contains(
      R"(tidemark_yarn_copilot_troubled_containers_total{class="etl",reason="localization_failed"} 1)"))
      << metrics.text();
}

TEST_F(World, FreesTheRequestedAmount) {
  add_process(10, kMaster, 100);
  add_process(11, kTask, 200);
  add_process(12, kOther, 300);
  start();
  const auto killed = run(api().kill_by_resource({{1000}, {1 << 30}}, kLimit));
  ASSERT_TRUE(killed) << killed.error().message;
  ASSERT_EQ(killed->size(), 1u);
  EXPECT_EQ(killed->front().name, kOther) << "the newest";
  EXPECT_EQ(killing.processes.size(), 2u);
  EXPECT_EQ(audit.at(0).reason, "by resource");
  EXPECT_EQ(post("/v1/killContainersByResource", "{}").status, 400);
}

TEST_F(World, StopsWithSigtermAndKillsAtTheDeadline) {
  add_process(10, kTask);
  killing.processes[10].hears_sigterm = false;
  start();
  const auto later = post("/tidemark/v1/stop", of(kTask, R"(,"graceSeconds":3600,"reason":"TM-EVICT-001")"));
  EXPECT_EQ(later.status, 202) << later.body;
  EXPECT_TRUE(killing.told.contains(10));
  const auto all = Json::parse(get("/tidemark/v1/containers").body).value();
  EXPECT_EQ(all.at("containers")->as_array()[1].text_at("stoppedAt"),
            Json::parse(later.body).value().text_at("killedAt"));
  EXPECT_EQ(killing.processes.size(), 1u);

  EXPECT_EQ(post("/tidemark/v1/stop", of(kTask, R"(,"graceSeconds":1800)")).status, 202);
  EXPECT_EQ(post("/tidemark/v1/stop", of(kTask, R"(,"graceSeconds":0,"reason":"TM-EVICT-002")")).status, 202);
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return audit.size() == 2; }));
  EXPECT_TRUE(killing.processes.empty());
  EXPECT_EQ(audit[0].verb, "stop");
  EXPECT_EQ(audit[0].reason, "TM-EVICT-001");
  EXPECT_EQ(audit[1].verb, "kill");
  EXPECT_EQ(audit[1].reason, "TM-EVICT-002");
  EXPECT_EQ(post("/tidemark/v1/stop", of(kTask)).status, 404) << "no process is left";
}

// A NodeManager starts a container as `bash -c COMMAND`, and kills all of it when that shell has ended.
TEST_F(World, StopSparesTheShellThatWaitsForTheCommand) {
  const auto add = [&](pid_t pid, pid_t shell, std::string_view caught, std::string_view id) {
    add_process(pid, id);
    killing.processes[pid].hears_sigterm = false;
    const pid_t parent = pid == shell ? 1 : shell;
    proc.write(base::cat(pid, "/stat"), base::cat(pid, " (x) S ", parent, " ", shell, " ", shell,
                                                  " 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 100 0 10\n"));
    proc.write(base::cat(pid, "/status"), base::cat("SigIgn:\t0\nSigCgt:\t", caught, "\n"));
  };
  add(10, 10, "0", kTask);
  add(11, 10, "4000", kTask);
  add(20, 20, "4000", kOther);  // a script that has a trap
  add(21, 20, "0", kOther);
  for (const pid_t pid : {30, 31}) {
    add(pid, 30, "0", kMaster);
    killing.add(pid, {});  // without a cgroup
    proc.write(base::cat(pid, "/environ"), base::cat("CONTAINER_ID=", kMaster, std::string(1, '\0')));
  }
  start();
  for (const std::string_view id : {kTask, kOther, kMaster}) {
    EXPECT_EQ(post("/tidemark/v1/stop", of(id, R"(,"graceSeconds":3600)")).status, 202) << id;
  }
  EXPECT_EQ(killing.told, (std::set<pid_t>{11, 20, 21, 31}));
}

TEST_F(World, WritesLimitsTogetherOrNotAtAll) {
  start();
  EXPECT_EQ(get(base::cat("/tidemark/v1/limits?containerID=", kTask)).body,
            base::cat(R"({"containerID":")", kTask, R"(","cpu":null,"memory":null})"));
  const auto limited = post("/tidemark/v1/limits", of(kTask, R"(,"cpu":"1500m","memory":"1Gi")"));
  EXPECT_EQ(limited.body, base::cat(R"({"containerID":")", kTask, R"(","cpu":"1500m","memory":"1Gi"})"));
  EXPECT_EQ(audit.at(0).verb, "limit");

  groups.remove(base::cat("memory/", group_of(kTask), "/memory.limit_in_bytes"));
  const auto refused = post("/tidemark/v1/limits", of(kTask, R"(,"cpu":"1","memory":"1Gi")"));
  EXPECT_EQ(refused.status, 501) << refused.body;
  EXPECT_EQ(get(base::cat("/tidemark/v1/limits?containerID=", kTask)).body,
            base::cat(R"({"containerID":")", kTask, R"(","cpu":"1500m","memory":null})"));
  EXPECT_EQ(get("/tidemark/v1/limits?containerID=x").status, 400);
  EXPECT_EQ(get(base::cat("/tidemark/v1/limits?containerID=", kEnded)).status, 404);
}

TEST_F(World, SendsEventsForStartChangeAndEnd) {
  start();
  auto stream = run(client->open(net::testing::get_request("/tidemark/v1/events"), kLimit)).value();
  std::string got;
  const auto line = [&] {
    while (!got.contains('\n')) got += run(stream->read(kLimit)).value().value_or("\n");
    const std::string one = got.substr(0, got.find('\n'));
    got.erase(0, one.size() + 1);
    const Json event = Json::parse(one).value();
    return base::cat(event.text_at("type"), " ", event.text_at("container", "id"), " ",
                     event.text_at("container", "state"));
  };
  EXPECT_EQ(line(), base::cat("added ", kMaster, " RUNNING"));
  EXPECT_EQ(line(), base::cat("added ", kTask, " RUNNING"));
  EXPECT_EQ(line(), base::cat("added ", kOther, " RUNNING"));
  tell({said(kMaster, "RUNNING"), said(kTask, "PAUSED")});
  EXPECT_EQ(line(), base::cat("changed ", kTask, " PAUSED"));
  EXPECT_EQ(line(), base::cat("removed ", kOther, " RUNNING"));
  away = true;
  EXPECT_EQ(line(), "away  ");
}

// Each pass reads the processes of the whole machine, on the loop that serves all clients.
TEST_F(World, RunsOnePassForManyListeners) {
  start();
  const auto pass = [&](base::Duration time) {
    bool over = false;
    const net::Timer timer = loop.after(time, [&] { over = true; });
    return net::testing::run_real_until(loop, [&] { return over; });
  };
  std::vector<std::unique_ptr<net::HttpStream>> listeners;
  for (int i = 0; i < 8; ++i) {
    auto opened = run(client->open(net::testing::get_request("/tidemark/v1/events"), kLimit));
    ASSERT_TRUE(opened) << opened.error().message;
    listeners.push_back(*std::move(opened));
    ASSERT_TRUE(pass(100ms)) << "not all at the same moment";
  }
  for (const auto& each : listeners) EXPECT_TRUE(run(each->read(kLimit)).value().has_value());
  const int before = asked;
  ASSERT_TRUE(pass(2500ms));
  EXPECT_GE(asked - before, 1);
  EXPECT_LE(asked - before, 4) << "one pass per second";
}

TEST_F(World, AnswersOnlyAllowedUsers) {
  // Root and our own user are always allowed, so only a third user could be rejected: check who may connect at all.
  start();
  EXPECT_EQ(std::filesystem::status(options.socket).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  copilot.reset();
  options.users = {"4711"};
  start();
  EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(options.socket).permissions()), 0666U);
}

TEST_F(World, RejectsInvalidOptionsByName) {
  const auto error = [&](std::function<void(CopilotOptions&)> change) {
    CopilotOptions wrong = options;
    change(wrong);
    auto made = YarnCopilot::make(loop, {killing, workers, {}, {}, 0}, log, metrics, std::move(wrong));
    return made ? std::string("none") : made.error().message;
  };
  EXPECT_EQ(error([](CopilotOptions& wrong) { wrong.users = {"ada"}; }), "--allow-users: wanted a uid, found \"ada\"");
  EXPECT_EQ(error([](CopilotOptions& wrong) { wrong.socket = "x.sock"; }),
            "--server-endpoint: wanted an absolute path, found \"x.sock\"");
  EXPECT_TRUE(error([](CopilotOptions& wrong) { wrong.group = "a/../b"; }).contains("leads up"));
  EXPECT_TRUE(error([](CopilotOptions& wrong) { wrong.group = "/"; }).contains("contains all processes"));
  EXPECT_TRUE(error([](CopilotOptions& wrong) { wrong.node_manager = "::"; }).starts_with("--node-manager-endpoint: "));
  EXPECT_EQ(error([](CopilotOptions& same) { same.sync_memory_cgroup = true; }), "none") << "Koordinator's manifest";
  EXPECT_TRUE(
      error([](CopilotOptions& wrong) { wrong.disk_read_mib = 1; }).contains("--nm-local-dirs names no folder"));
  EXPECT_TRUE(error([](CopilotOptions& wrong) {
                wrong.disk_read_mib = 1;
                wrong.local_dirs = {"/"};
              }).contains("--adopt puts containers there"));
  start();
  EXPECT_TRUE(error([](CopilotOptions&) {}).starts_with("--server-endpoint: ")) << "another process listens there";
}

TEST_F(World, FindsTheCgroupOfTheSystemdDriver) {
  groups.remove("cpu/kubepods");
  for (const char* name : {"cpuacct", "cpuset", "memory", "blkio", "pids", "freezer"}) {
    groups.remove(base::cat(name, "/kubepods"));
  }
  linux::testing::make_v1_group(groups, "kubepods.slice/kubepods-besteffort.slice");
  start();
  EXPECT_EQ(run(api().container(std::string(kTask), kLimit))->group, base::cat(kSystemdGroup, "/", kTask));
}

}  // namespace
}  // namespace tidemark::yarn_copilot
