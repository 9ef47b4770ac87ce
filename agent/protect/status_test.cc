#include "agent/protect/status.h"

#include <gtest/gtest.h>

#include "linux/testing/tree.h"
#include "model/isolation.h"
#include "model/reason.h"

namespace tidemark::agent {
namespace {

AgentStatus some() {
  AgentStatus out;
  out.at = base::WallTime{std::chrono::seconds(1'795'000'000)};
  out.pid = 4711;
  out.holding = true;
  out.mark_generation = 12;
  out.by = "ann@ops-1";
  out.why = "kernel \"update\"";
  out.left = 1;
  out.unmet = 3;
  out.only_shows = "no groups";
  out.copilots = "disks of containers: 10 MiB/s written where it is enforced";
  out.priority_by = "cpu.idle";
  out.offline_group = "kubepods/besteffort";
  out.online_in_besteffort = "kube-system/kube-proxy-x";
  out.gates_without_effect = "CPUBurst, RdtResctrl";
  out.strategies = {{model::Strategy::kCpuSuppress, "enforce", "TM-AGENT-001", 2, "19600 milli-cores"},
                    {model::Strategy::kBatchLimits, "restore", "TM-AGENT-002", 0, ""}};
  out.oom = {2, 1, false, "no room"};
  out.measures = {{"run queue", true, false, "/proc/self/schedstat"}, {"disks", false, true, "no diskstats"}};
  out.trials.found = {{policy::protect::Knob::kCpuBvt, false, false, false, "no cpu.bvt_warp_ns in /x"},
                      {policy::protect::Knob::kCpuIdle, true, true, true, ""}};
  return out;
}

TEST(AgentStatus, WhatIsWrittenIsRead) {
  const linux::testing::Tree tree;
  EXPECT_EQ(read_status(tree.root()).value(), std::nullopt);
  ASSERT_TRUE(write_status(tree.root(), some()));
  EXPECT_EQ(read_status(tree.root()).value(), some());
}

TEST(AgentStatus, InvalidStatusNamesTheFile) {
  linux::testing::Tree tree;
  for (const char* text : {"", "{}", R"({"schema":2,"strategies":[]})", R"({"schema":1})",
                           R"({"schema":1,"strategies":[{"name":"magic"}]})"}) {
    tree.write("status.json", text);
    const auto read = read_status(tree.root());
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message.find("status.json"), std::string::npos) << read.error().message;
  }
}

TEST(AgentStatus, ReportsFailedTrial) {
  AgentStatus status = some();
  status.trials = {{}, "make /sys/fs/cgroup/cpu/x: Permission denied"};
  EXPECT_EQ(parse_status(status_json(status)).value(), status);
}

// A program reads what the versions beside it wrote (DESIGN 10).
TEST(AgentStatus, SkipsUnknownTrialsOfOtherVersion) {
  const auto older = parse_status(R"({"schema":1,"strategies":[]})");
  ASSERT_TRUE(older);
  EXPECT_FALSE(older->trials.any());
  EXPECT_EQ(older->oom, policy::explain::OomFound());
  EXPECT_TRUE(older->measures.empty());
  const auto newer = parse_status(
      R"({"schema":1,"strategies":[],"knobs":[{"knob":"cpu.magic","exists":true},{"knob":"cpu.shares","exists":true}]})");
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->trials.found,
            (std::vector<policy::explain::KnobFound>{{policy::protect::Knob::kCpuShares, true, false, false, ""}}));
}

TEST(AgentStatus, ConditionShowsValuesInForce) {
  AgentStatus status = some();
  EXPECT_EQ(condition_reason(status), "Enforcing");
  EXPECT_EQ(
      condition_message(status),
      "cpuSuppress: enforce (2 files); batchLimits: restore; mark 12; ordered by ann@ops-1: kernel \"update\"; "
      "CPU priority by cpu.idle; kernel files effective: cpu.idle; only shown: no groups; disks of containers: 10 "
      "MiB/s written where it is enforced; "
      "left to another writer: 1; wanted, and met by no file here: 3");
  status.copilots = "disks of containers: 10 MiB/s written, in force on 1 disk";
  EXPECT_TRUE(condition_message(status).contains("; disks of containers: 10 MiB/s written, in force on 1 disk"));
  status.trials.found.push_back({policy::protect::Knob::kCpuShares, true, true, true, "the machine is busy"});
  status.trials.found.push_back({policy::protect::Knob::kMemoryLimit, true, true, false, "not met"});
  EXPECT_TRUE(condition_message(status).contains(
      "; kernel files effective: cpu.idle; not decided: cpu.shares; no effect: memory.limit_in_bytes; only shown"))
      << condition_message(status);
  status.strategies[0].permit = "restore";
  EXPECT_EQ(condition_reason(status), "Observing");
  status.strategies[1].permit = "tighten";
  EXPECT_EQ(condition_reason(status), "Holding");
  status.strategies[1].permit = "keep";
  EXPECT_EQ(condition_reason(status), "Waiting");
  status.strategies[1].reason = model::reason_id(model::Reason::kAgentHolds);
  EXPECT_EQ(condition_reason(status), "Holding") << "what is only observed is kept then";
  status.off = true;
  EXPECT_EQ(condition_reason(status), "Off");
  status.latched = true;
  EXPECT_EQ(condition_reason(status), "OffLocally");
}

TEST(AgentStatus, ConditionShowsIfAnythingIsInForce) {
  AgentStatus status = some();
  EXPECT_FALSE(model::says_nothing_in_force(condition_reason(status), condition_message(status)));
  status.off = true;
  EXPECT_FALSE(model::says_nothing_in_force(condition_reason(status), condition_message(status)))
      << "work that runs is held";
  status.strategies[0].in_force = 1;
  EXPECT_FALSE(model::says_nothing_in_force(condition_reason(status), condition_message(status)));
  status.strategies[0].in_force = 0;
  for (const char* why :
       {"a file of his (see 12, (3 files", "cleanup (3 files)", "x; cpuSuppress: enforce (3 files)"}) {
    status.why = why;
    EXPECT_TRUE(model::says_nothing_in_force(condition_reason(status), condition_message(status)))
        << condition_message(status);
  }
  status.by.clear();
  status.only_shows = "no room (1 file); batchLimits: enforce (2 files)";
  EXPECT_TRUE(model::says_nothing_in_force(condition_reason(status), condition_message(status)))
      << condition_message(status);
  status.trouble = "no room";
  EXPECT_FALSE(model::says_nothing_in_force(condition_reason(status), condition_message(status))) << "it is unknown";
  EXPECT_FALSE(model::says_nothing_in_force("Enforcing", "cpuSuppress: enforce"));
  EXPECT_TRUE(model::says_nothing_in_force("Observing", ""));
  EXPECT_FALSE(
      model::says_nothing_in_force("Off", "cpuSuppress: restore; oomOrder: off (7 processes); newer: off (1 file)"))
      << "of a strategy that this version does not know";
}

}  // namespace
}  // namespace tidemark::agent
