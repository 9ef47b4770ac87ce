// Measures the node and its accounts once a second, at one instant. It decides nothing. For one thread; a pass waits
// only for the kernel's answer to a reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/sampler/accounts.h"
#include "agent/sampler/cpi_windows.h"
#include "agent/sampler/group_meter.h"
#include "agent/sampler/machine_meter.h"
#include "agent/sampler/measured.h"
#include "agent/sampler/readings.h"
#include "agent/sampler/run_queue_meter.h"
#include "base/clock.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"

namespace tidemark::agent {

// The places to read, all of which outlive the sampler.
struct SamplerPlaces {
  const linux::Hierarchies& hierarchies;
  const linux::Folder& proc;
  const linux::Folder* numa_nodes = nullptr;  // /sys/devices/system/node; nullptr: the machine has none
  bool schedstat = true;                      // false: processes have no run-queue times (facilities.h)
};

// Contract 7.12: the usage of the system is computed only from inputs no older than this.
inline constexpr base::Duration kSystemGoodFor = std::chrono::seconds(10);

struct SamplerOptions {
  base::Duration interval = std::chrono::seconds(1);  // no reading has a shorter period
  ReadingTable readings = default_readings();
  bool keep_files = true;  // files that are read every second stay open
  bool run_queue = true;   // of online accounts
  CpiOptions cpi;
};

class Sampler {
 public:
  Sampler(const SamplerPlaces&, const SamplerOptions&, const base::Clock&);
  Sampler(const Sampler&) = delete;  // a pass refers to its members
  Sampler& operator=(const Sampler&) = delete;
  ~Sampler() = default;

  // Sets the whole list; call it when the list changes. An account keeps its measurements while its handle and its
  // group's path are the same; if its group does not exist, it is awaited. Handles and paths must be unique.
  void set_accounts(std::span<const AccountSpec>);

  // 0: a pass is due.
  base::Duration until_next() const;
  // Reads what is due. If called late, it skips the missed passes: rates cover the elapsed time.
  const Measured& pass();
  const Measured& measured() const { return measured_; }

 private:
  struct Account {
    AccountSpec spec;
    std::optional<GroupMeter> group;
    std::vector<std::optional<GroupMeter>> containers;
    RunQueueMeter run_queue;
    std::int64_t slot = 0;     // offset of its slower readings within their period
    bool all = false;          // just opened: everything is read once
    bool listed_anew = false;  // its containers may have changed
  };

  void take_containers(Account&, AccountMeasured&, const AccountSpec&) const;
  void start_pass();
  bool due(Reading, std::int64_t slot = 0) const;
  void set_good_for();
  void set_good_for(AccountMeasured&) const;

  void open_groups();
  std::optional<GroupMeter> open_group(const std::string& path, std::initializer_list<linux::File> keep);
  void vanish(Account&, AccountMeasured&);
  void vanish(std::optional<GroupMeter>&, ContainerMeasured&);

  void read_now();
  void read_slowly(Account&, AccountMeasured&);
  void read_containers(Account&, AccountMeasured&);
  void read_run_queue(Account&, AccountMeasured&);
  void read_cpi();

  // subtract.cc
  void subtract_cpu();
  void subtract_memory();
  void apportion();

  SamplerPlaces places_;
  SamplerOptions options_;
  const base::Clock& clock_;
  linux::Buffer buffer_;
  std::vector<linux::DeviceIo> devices_;
  std::vector<pid_t> processes_;

  Measured measured_;
  Pass pass_;  // refers to the members above
  MachineMeter machine_;
  CpiWindows cpi_;
  std::size_t cpi_turn_ = 0;

  std::vector<Account> accounts_;  // in the order of measured_.accounts
  std::int64_t next_slot_ = 0;

  std::optional<base::MonotonicTime> next_;
  std::int64_t tick_ = 0, tick_before_ = 0;
  bool changed_ = false;  // a summed account was removed since the last pass
  std::size_t open_turn_ = 0;
  base::MonotonicTime cpu_whole_, memory_whole_;  // when the sum was last complete, or started
};

}  // namespace tidemark::agent
