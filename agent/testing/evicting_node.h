// A node whose memory is nearly used up, second by second: what eviction sees of it, and whom it asks to end.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/evict/eviction_controller.h"
#include "base/json.h"
#include "base/testing/clock.h"
#include "base/text.h"
#include "linux/testing/tree.h"
#include "net/testing/loop.h"

namespace tidemark::agent::testing {

inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;
inline constexpr base::Duration kGoodFor = std::chrono::seconds(2);  // what is measured

// Ends tasks, with the answer that the test sets.
class TakingHands final : public EvictionHands {
 public:
  policy::evict::EvictOutcome answer = policy::evict::EvictOutcome::kAccepted;
  std::vector<std::string> asked, killed;
  std::vector<model::Reason> why;  // of all of them
  base::Duration grace{};          // of the last one that was asked
  std::size_t in_group = 1;        // of whomever it kills

  net::Task<policy::evict::EvictOutcome> ask(const model::Task& task, model::Reason reason, base::Duration granted,
                                             bool /*itself*/) override {
    asked.push_back(task.name);
    grace = granted;
    why.push_back(reason);
    co_return answer;
  }
  net::Task<Result<linux::KillReport>> kill(const model::Task& task, model::Reason reason) override {
    killed.push_back(task.name);
    why.push_back(reason);
    co_return linux::KillReport{in_group, 0};
  }
};

class EvictingNode : public ::testing::Test {
 protected:
  EvictingNode() {
    facts.size.capacity = facts.size.allocatable = {model::CpuMilli{8000}, model::MemoryBytes{16 * kGiB}};
    rules.threshold.enable = true;
    rules.threshold.memory_evict_percent = 70;
    gates.set(policy::evict::EvictFeature::kBeMemory);
    begin();
  }

  void begin() {
    controller.reset();
    folder.write("proc/sys/kernel/random/boot_id", "b1\n");
    memory.emplace(log, folder.root() + "/run", folder.root() + "/proc");
    controller.emplace(loop, EvictionOutside{hands, nullptr, &ledger, &*memory}, log, metrics,
                       eviction_defaults(gates, alone));
  }
  // Offline work ends where it has less than 30 % of the processors that it asked for, over a minute.
  void begin_by_satisfaction() {
    gates.set(policy::evict::EvictFeature::kBeCpu);
    rules.threshold.cpu_evict_satisfaction_lower_percent = 30;
    rules.threshold.cpu_evict_satisfaction_upper_percent = 60;
    rules.threshold.cpu_evict_window_s = 60;
    begin();
  }
  std::vector<Loss> losses() {
    EXPECT_TRUE(net::testing::run_task(loop, ledger.drain(std::chrono::hours(1))));
    std::vector<Loss> out;
    std::ifstream file(folder.path("losses.jsonl"));
    for (std::string line; std::getline(file, line);) {
      const Json json = Json::parse(line).value();
      Loss& loss = out.emplace_back();
      for (const auto& [key, into] : {std::pair("name", &loss.name),
                                      {"feature", &loss.feature},
                                      {"reason", &loss.reason},
                                      {"ended", &loss.ended}}) {
        *into = json.text_at(key);
      }
      loss.memory = model::MemoryBytes{json.at("memory_bytes")->get_int().value_or(0)};
      loss.lost_core_seconds = json.at("lost_core_seconds")->get_int().value_or(0);
      loss.ending = std::chrono::milliseconds(json.at("ending_ms")->get_int().value_or(0));
    }
    return out;
  }

  void pod(const std::string& name, std::int64_t memory_gib, model::Qos qos = model::Qos::kBe) {
    auto task = std::make_shared<model::Task>();
    task->identity.source = "kubernetes";
    task->identity.task = task->name = name;
    task->ns = "jobs";
    task->path = "kubepods/besteffort/pod" + name;
    task->phase = model::PodPhase::kRunning;
    task->qos_raw = task->qos = qos;
    task->priority_raw = task->priority =
        qos == model::Qos::kBe ? model::PriorityClass::kBatch : model::PriorityClass::kProd;
    task->created = task->started = clock.wall() + -std::chrono::hours(1);
    pods[name] = {std::move(task), memory_gib};
  }

  // Requests so much batch CPU and uses half a core.
  void work(const std::string& name, const std::string& work_class, std::int64_t milli, model::TaskKind kind) {
    pod(name, 0);
    auto task = std::make_shared<model::Task>(*pods[name].first);
    task->kind = kind;
    task->identity.work_class = work_class;
    task->requests.batch.cpu = model::CpuMilli{milli};
    if (kind == model::TaskKind::kCopilotTask) task->identity.source = "yarn";
    pods[name].first = std::move(task);
  }

  void seconds(int count) {
    for (int i = 0; i < count; ++i) {
      auto snapshot = std::make_shared<TaskSnapshot>();
      measured = {};
      std::int64_t used = other_gib * kGiB;
      std::uint32_t slot = 0;
      for (const auto& [name, each] : pods) {
        const TaskHandle handle{slot++, 1};
        snapshot->tasks.push_back({handle, each.first, std::nullopt, false});
        AccountMeasured account;
        account.handle = handle;
        account.use.memory.good_for = account.use.cpu_micro.good_for = kGoodFor;
        account.use.memory.put({each.second * kGiB, each.second * kGiB}, clock.monotonic());
        account.use.cpu_micro.put(cpu_micro, clock.monotonic());
        measured.accounts.push_back(std::move(account));
        used += each.second * kGiB;
      }
      measured.node.memory.good_for = kGoodFor;
      measured.node.memory.put({used, used}, clock.monotonic());
      measured.node.memory_of_kubelet.good_for = kGoodFor;
      measured.node.memory_of_kubelet.put(used + read_gib * kGiB, clock.monotonic());
      tasks = std::move(snapshot);
      controller->observe(
          {{&facts, measured, *tasks, rules.threshold, besteffort, &disks, off, withdrawn,
            left_to_pods.transform([](std::int64_t bytes) { return model::MemoryBytes{bytes}; }), "kubepods"},
           tasks,
           rules,
           permit});
      net::testing::run_for(loop, clock, std::chrono::seconds(1));
    }
  }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  std::string lines;
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  base::Registry metrics;
  TakingHands hands;
  NodeFacts facts;
  policy::protect::NodeRules rules;
  policy::evict::EvictSwitches gates;
  bool alone = false;  // on a machine of its own
  policy::state::Permit permit = policy::state::Permit::kEnforce;
  std::map<std::string, std::pair<TaskPointer, std::int64_t>> pods;  // with what it uses
  std::int64_t other_gib = 8;
  std::int64_t read_gib = 0;  // of files, lately: available, and used as the kubelet counts
  std::optional<std::int64_t> left_to_pods;
  Measured measured;
  DiskSights disks;
  BesteffortInForce besteffort{.cpus = {}, .quota_us = {}, .group = "kubepods/besteffort"};
  bool off = false;
  bool withdrawn = false;
  std::int64_t cpu_micro = 1'000'000;  // of each task
  std::shared_ptr<const TaskSnapshot> tasks;
  linux::testing::Tree folder;
  LossLedger ledger{loop, log, metrics, folder.root()};
  std::optional<EvictMemory> memory;
  std::optional<EvictionController> controller;
};

}  // namespace tidemark::agent::testing
