// The result of one pass of the sampler: every measured value with its age and validity.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/sampler/accounts.h"
#include "agent/sampler/sample.h"
#include "base/clock.h"

namespace tidemark::agent {

// CPU is in micro-cores everywhere: 1'000'000 is one fully used CPU.

struct MemoryUse {
  // Of the node: total − available. Of a group: inactive_anon + active_anon + unevictable.
  std::int64_t without_page_cache = 0;
  // Of the node: total − free. Of a group: the same and active_file + inactive_file. No mainline kernel reports which
  // part of the page cache is hot, so there is no third variant.
  std::int64_t with_page_cache = 0;
};

struct Throttling {
  std::int64_t periods = 0, throttled_periods = 0, throttled_ns = 0;  // since the last reading
};

struct PressureUse {
  // Hundredths of a percent over the last ten seconds, as the kernel averages; 10000 is all of the time.
  std::int32_t some_centi = 0;
  std::optional<std::int32_t> full_centi;
  std::int64_t some_total_us = 0;  // since the start of the machine or of the group
};

struct Pressures {
  Sample<PressureUse> cpu, memory, io;
};

// Events in a group and below it. The totals continue while containers come and go, and include events from before the
// group was first seen.
struct MemoryEventTotals {
  std::int64_t oom_kills = 0;
  std::int64_t limit_hits = 0;  // memory.max was reached, and memory was reclaimed
  std::int64_t high_hits = 0;   // throttled above memory.high; v1 has none
};

// Of the first threads of its processes.
struct RunQueueUse {
  std::int64_t ran_ns = 0, waited_ns = 0;  // since the last reading, of all of them
  std::int64_t worst_waited_ns = 0;        // of the one that waited longest
  int processes = 0;                       // in both readings
  int left_out = 0;                        // beyond the limit for one account
};

struct IoUse {  // per second, summed over devices
  std::int64_t read_bytes = 0, write_bytes = 0;
  std::optional<std::int64_t> reads, writes;
  std::int64_t written_in_all = 0;  // total bytes since the group was created
};

struct CpiUse {
  std::int64_t cycles = 0, instructions = 0;  // of one window
  std::int64_t cpi_milli() const { return instructions > 0 ? cycles * 1000 / instructions : 0; }
};

struct GroupUse {
  Sample<std::int64_t> cpu_micro;
  Sample<MemoryUse> memory;
  Sample<Throttling> throttling;
};

enum class Presence : std::uint8_t {
  kAwaited,   // its group never existed
  kPresent,   //
  kVanished,  // its group is gone
};

struct ContainerMeasured {
  std::string id;
  Presence presence = Presence::kAwaited;
  Sample<Throttling> throttling;
};

struct AccountMeasured {
  TaskHandle handle;
  bool counts = true;  // as its AccountSpec says
  Presence presence = Presence::kAwaited;
  GroupUse use;
  Sample<std::int64_t> working_set_bytes;  // as the kubelet counts it, and evicts by it: usage − inactive_file
  Pressures pressure;
  Sample<MemoryEventTotals> memory_events;
  Sample<IoUse> io;
  Sample<RunQueueUse> run_queue;
  Sample<CpiUse> cpi;
  std::vector<ContainerMeasured> containers;
};

// The node minus its accounts.
struct SystemUse {
  // max(node − Σ accounts, 0); only accounts that count are in the sum.
  std::int64_t cpu_micro = 0;
  int unmeasured = 0;  // accounts without a value, which therefore count as system
};

struct SystemMemory {
  MemoryUse bytes;
  int unmeasured = 0;
};

struct NumaMeasured {
  int id = 0;
  Sample<std::int64_t> cpu_micro;
  Sample<std::int64_t> memory_bytes;  // total − free − file pages − reclaimable slab
  // The system's share:  system × this node's / all nodes'.
  Sample<std::int64_t> system_cpu_micro, system_memory_bytes;
};

struct NodeMeasured {
  int cpus = 0;  // online
  Sample<std::int64_t> cpu_micro;
  std::int64_t memory_total_bytes = 0;
  Sample<MemoryUse> memory;
  Sample<std::int64_t> memory_of_kubelet;  // as the kubelet counts and evicts; never less than total − available
  Pressures pressure;
  std::vector<NumaMeasured> numa;  // ascending; empty: the kernel has none, or it was not read yet
};

struct PassReport {
  std::int64_t number = 0;
  base::MonotonicTime at;    // its start: the instant of the snapshot
  base::Duration took{0};    // until the last value was read
  base::Duration late{0};    // after its due time
  std::int64_t skipped = 0;  // missed passes that this one replaces
  // False: the pass took so long that its values do not belong together; nothing is subtracted then.
  bool one_instant = true;
  int vanished = 0;      // groups that went since the last pass
  int unreadable = 0;    // existing values that could not be read …
  std::string an_error;  // … one of the errors
};

// Read by the thread that runs the sampler, until its next pass: the buffers are reused.
struct Measured {
  PassReport pass;
  NodeMeasured node;
  Sample<SystemUse> system_cpu;
  Sample<SystemMemory> system_memory;
  std::vector<AccountMeasured> accounts;  // in the given order

  const AccountMeasured* find(TaskHandle) const;
};

}  // namespace tidemark::agent
