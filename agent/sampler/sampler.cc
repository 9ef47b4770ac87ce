#include "agent/sampler/sampler.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/check.h"

namespace tidemark::agent {
namespace {

using base::Duration;
using linux::File;

// Groups opened in one pass: after a start, several passes open them all.
constexpr int kOpensMax = 256;
// Fraction of the interval: a pass that needs longer for the summed values has no single instant.
constexpr int kInstantPart = 10;

constexpr Validity kUnknown = Validity::kNotYet;

std::uint64_t key_of(TaskHandle handle) {
  return std::uint64_t{handle.slot} << 32 | handle.turn;
}

linux::Version memory_groups(const linux::Hierarchies& hierarchies) {
  const auto* home = hierarchies.home(linux::File::kMemoryUsage);
  return home == nullptr ? linux::Version::kV2 : home->version;
}

}  // namespace

Sampler::Sampler(const SamplerPlaces& places, const SamplerOptions& options, const base::Clock& clock)
    : places_(places),
      options_(options),
      clock_(clock),
      pass_{clock, buffer_, devices_, processes_, measured_.pass},
      machine_(places.proc, places.numa_nodes, memory_groups(places.hierarchies),
               good_for(options.readings, Reading::kNumaMemory)),
      cpi_(options.cpi),
      cpu_whole_(clock.monotonic()),
      memory_whole_(cpu_whole_) {
  set_good_for();
}

void Sampler::set_good_for() {
  const ReadingTable& table = options_.readings;
  NodeMeasured& node = measured_.node;
  node.cpu_micro.good_for = good_for(table, Reading::kNodeCpu);
  node.memory.good_for = node.memory_of_kubelet.good_for = good_for(table, Reading::kNodeMemory);
  for (auto* one : {&node.pressure.cpu, &node.pressure.memory, &node.pressure.io}) {
    one->good_for = good_for(table, Reading::kNodePressure);
  }
  measured_.system_cpu.good_for = measured_.system_memory.good_for = kSystemGoodFor;
}

void Sampler::set_good_for(AccountMeasured& out) const {
  const ReadingTable& table = options_.readings;
  out.use.cpu_micro.good_for = good_for(table, Reading::kCpu);
  out.use.memory.good_for = good_for(table, Reading::kMemory);
  out.working_set_bytes.good_for = good_for(table, Reading::kWorkingSet);
  for (auto* one : {&out.pressure.cpu, &out.pressure.memory, &out.pressure.io}) {
    one->good_for = good_for(table, Reading::kPressure);
  }
  out.use.throttling.good_for = good_for(table, Reading::kThrottling);
  out.memory_events.good_for = good_for(table, Reading::kMemoryEvents);
  out.io.good_for = good_for(table, Reading::kIo);
  out.run_queue.good_for = good_for(table, Reading::kRunQueue);
  out.cpi.good_for = good_for(table, Reading::kCpi);
}

void Sampler::set_accounts(std::span<const AccountSpec> specs) {
  std::unordered_map<std::uint64_t, std::size_t> known;
  for (std::size_t at = 0; at < accounts_.size(); ++at) known.emplace(key_of(accounts_[at].spec.handle), at);

  std::vector<Account> accounts;
  std::vector<AccountMeasured> measured;
  for (const AccountSpec& spec : specs) {
    TM_CHECK(!spec.path.empty(), "the root group is the machine's, and no account's");
    Account account;
    AccountMeasured out;
    const auto found = known.find(key_of(spec.handle));
    if (found != known.end() && accounts_[found->second].spec.path == spec.path) {
      account = std::move(accounts_[found->second]);
      out = std::move(measured_.accounts[found->second]);
      known.erase(found);
    } else {
      account.slot = next_slot_++;
    }
    take_containers(account, out, spec);
    account.spec = spec;
    account.listed_anew = true;
    out.handle = spec.handle;
    out.counts = spec.counts;
    set_good_for(out);
    accounts.push_back(std::move(account));
    measured.push_back(std::move(out));
  }
  changed_ = changed_ || std::ranges::any_of(known, [&](const auto& gone) {
               const Account& one = accounts_[gone.second];
               return one.spec.counts && one.group.has_value();
             });
  accounts_ = std::move(accounts);
  measured_.accounts = std::move(measured);
  open_turn_ = cpi_turn_ = 0;
}

// Containers that are still listed keep their measurements.
void Sampler::take_containers(Account& account, AccountMeasured& out, const AccountSpec& spec) const {
  std::vector<std::optional<GroupMeter>> groups(spec.containers.size());
  std::vector<ContainerMeasured> measured(spec.containers.size());
  for (std::size_t at = 0; at < spec.containers.size(); ++at) {
    const auto old = std::ranges::find(account.spec.containers, spec.containers[at]);
    if (old != account.spec.containers.end()) {
      const auto place = static_cast<std::size_t>(old - account.spec.containers.begin());
      groups[at] = std::exchange(account.containers[place], std::nullopt);
      measured[at] = out.containers[place];
    }
    measured[at].id = spec.containers[at].id;
    measured[at].throttling.good_for = good_for(options_.readings, Reading::kContainers);
  }
  account.containers = std::move(groups);
  out.containers = std::move(measured);
}

base::Duration Sampler::until_next() const {
  return next_ ? std::max(*next_ - clock_.monotonic(), Duration(0)) : Duration(0);
}

const Measured& Sampler::pass() {
  start_pass();
  open_groups();
  machine_.read_cpu(pass_, measured_.node);
  read_now();
  measured_.pass.one_instant = clock_.monotonic() - measured_.pass.at <= options_.interval / kInstantPart;

  for (std::size_t at = 0; at < accounts_.size(); ++at) {
    if (accounts_[at].group) read_slowly(accounts_[at], measured_.accounts[at]);
    if (accounts_[at].group) read_containers(accounts_[at], measured_.accounts[at]);
    accounts_[at].all = false;
  }
  if (due(Reading::kNumaMemory)) machine_.read_numa_memory(pass_, measured_.node);
  if (due(Reading::kNodePressure)) machine_.read_pressure(pass_, measured_.node);
  read_cpi();

  subtract_cpu();
  subtract_memory();
  apportion();
  changed_ = false;
  measured_.pass.took = clock_.monotonic() - measured_.pass.at;
  return measured_;
}

void Sampler::start_pass() {
  const auto now = clock_.monotonic();
  PassReport& report = measured_.pass;
  const std::int64_t number = report.number + 1;
  const Duration late = next_ ? std::max(now - *next_, Duration(0)) : Duration(0);
  report.number = number;
  report.at = now;
  report.late = late;
  report.skipped = late / options_.interval;
  report.vanished = report.unreadable = 0;
  report.an_error.clear();
  tick_before_ = tick_;
  tick_ += 1 + report.skipped;
  pass_.tick = tick_;
  // On the grid of the first pass, so that delays do not add up.
  next_ = (next_ ? *next_ + report.skipped * options_.interval : now) + options_.interval;
}

bool Sampler::due(Reading reading, std::int64_t slot) const {
  const Duration period = options_.readings[static_cast<std::size_t>(reading)].period;
  const std::int64_t every = std::max<std::int64_t>(period / options_.interval, 1);
  return tick_before_ == 0 || (tick_ + slot) / every != (tick_before_ + slot) / every;
}

std::optional<GroupMeter> Sampler::open_group(const std::string& path, std::initializer_list<File> keep) {
  auto opened = GroupMeter::open(places_.hierarchies, path, options_.keep_files ? keep : std::initializer_list<File>{});
  if (!opened) {
    pass_.note(opened.error());
    return std::nullopt;
  }
  return std::move(*opened);
}

// Before any reading: opening is slower than reading, and would spread the readings of one instant.
void Sampler::open_groups() {
  int left = kOpensMax;
  for (std::size_t step = 0; step < accounts_.size() && left > 0; ++step) {
    const std::size_t at = (open_turn_ + step) % accounts_.size();
    Account& account = accounts_[at];
    AccountMeasured& out = measured_.accounts[at];
    if (!account.group) {
      --left;
      account.group = open_group(account.spec.path, {File::kCpuUsage, File::kMemoryStat});
      if (!account.group) continue;
      out.presence = Presence::kPresent;
      account.all = true;
    }
    const bool look = account.all || account.listed_anew;
    account.listed_anew = false;
    if (!look && !due(Reading::kContainers, account.slot)) continue;
    for (std::size_t inner = 0; inner < account.containers.size(); ++inner) {
      auto& group = account.containers[inner];
      if (group) continue;
      --left;
      group = open_group(account.spec.containers[inner].path, {});
      if (group) out.containers[inner].presence = Presence::kPresent;
    }
  }
  if (left <= 0 && !accounts_.empty()) open_turn_ = (open_turn_ + kOpensMax / 2) % accounts_.size();
}

// Its measurements say nothing about a later group with the same name.
void Sampler::vanish(Account& account, AccountMeasured& out) {
  for (std::size_t at = 0; at < account.containers.size(); ++at) {
    if (account.containers[at]) vanish(account.containers[at], out.containers[at]);
  }
  account.group.reset();
  account.run_queue = {};
  ++measured_.pass.vanished;
  changed_ = changed_ || account.spec.counts;
  out.presence = Presence::kVanished;
  out.use.cpu_micro.validity = out.use.throttling.validity = out.use.memory.validity = kUnknown;
  out.working_set_bytes.validity = out.io.validity = out.run_queue.validity = out.cpi.validity = kUnknown;
  for (auto* one : {&out.pressure.cpu, &out.pressure.memory, &out.pressure.io}) one->validity = kUnknown;
}

void Sampler::vanish(std::optional<GroupMeter>& group, ContainerMeasured& out) {
  group.reset();
  ++measured_.pass.vanished;
  out.presence = Presence::kVanished;
  out.throttling.validity = kUnknown;
}

// What is summed, and what is acted on within a second: the CPU of all accounts, then the memory of all.
void Sampler::read_now() {
  for (std::size_t at = 0; at < accounts_.size(); ++at) {
    Account& account = accounts_[at];
    if (!account.group) continue;
    AccountMeasured& out = measured_.accounts[at];
    const bool cpu = account.all || due(Reading::kCpu);
    const bool throttling = account.all || due(Reading::kThrottling, account.slot);
    const bool there = cpu && throttling ? account.group->read_cpu_and_throttling(pass_, out.use)
                       : cpu             ? account.group->read_cpu(pass_, out.use.cpu_micro)
                       : throttling      ? account.group->read_throttling(pass_, out.use.throttling)
                                         : true;
    if (!there) vanish(account, out);
  }
  if (due(Reading::kNodeMemory)) machine_.read_memory(pass_, measured_.node);
  for (std::size_t at = 0; at < accounts_.size(); ++at) {
    Account& account = accounts_[at];
    if (!account.group || !(account.all || due(Reading::kMemory))) continue;
    if (!account.group->read_memory(pass_, measured_.accounts[at].use.memory)) vanish(account, measured_.accounts[at]);
  }
}

void Sampler::read_slowly(Account& account, AccountMeasured& out) {
  GroupMeter& group = *account.group;
  const auto wanted = [&](Reading reading) { return account.all || due(reading, account.slot); };
  const bool there = (!wanted(Reading::kWorkingSet) || group.read_working_set(pass_, out.working_set_bytes)) &&
                     (!wanted(Reading::kPressure) || group.read_pressure(pass_, out.pressure)) &&
                     (!wanted(Reading::kMemoryEvents) || group.read_memory_events(pass_, out.memory_events)) &&
                     (!wanted(Reading::kIo) || group.read_io(pass_, out.io));
  if (!there) {
    vanish(account, out);
    return;
  }
  if (options_.run_queue && account.spec.online && wanted(Reading::kRunQueue)) read_run_queue(account, out);
}

void Sampler::read_run_queue(Account& account, AccountMeasured& out) {
  if (!places_.schedstat) {
    out.run_queue.fail(measured_.pass.at, Validity::kMissing);
    return;
  }
  account.run_queue.begin();
  // On v1 and v2, processes are in the innermost groups.
  if (account.containers.empty()) account.run_queue.add(pass_, places_.proc, account.group->group());
  for (const auto& container : account.containers) {
    if (container) account.run_queue.add(pass_, places_.proc, container->group());
  }
  account.run_queue.finish(pass_, out.run_queue);
}

void Sampler::read_containers(Account& account, AccountMeasured& out) {
  if (!account.all && !due(Reading::kContainers, account.slot)) return;
  // v1 counts events of a container only in its own group, v2 in its pod's too.
  const bool own_events = account.group->group().version(File::kMemoryEvents) == linux::Version::kV1;
  for (std::size_t at = 0; at < account.containers.size(); ++at) {
    auto& group = account.containers[at];
    if (!group) continue;
    ContainerMeasured& one = out.containers[at];
    const bool there = group->read_throttling(pass_, one.throttling) &&
                       (!own_events || group->read_memory_events(pass_, out.memory_events));
    if (!there) vanish(group, one);
  }
}

void Sampler::read_cpi() {
  if (!options_.cpi.on) return;
  const auto now = measured_.pass.at;
  if (cpi_.over(now)) {
    cpi_.finish(pass_, [&](TaskHandle handle, const CpiUse& use) {
      const auto found = std::ranges::find(measured_.accounts, handle, &AccountMeasured::handle);
      if (found != measured_.accounts.end()) found->cpi.put(use, now, options_.cpi.window);
    });
  }
  if (!due(Reading::kCpi) || accounts_.empty()) return;
  cpi_.begin(pass_);
  const linux::CpuSet cpus = machine_.cpus_on();
  std::size_t turn = cpi_turn_;
  for (std::size_t step = 0; step < accounts_.size(); ++step) {
    turn = (cpi_turn_ + step) % accounts_.size();
    const Account& account = accounts_[turn];
    if (!account.spec.online || !account.group) continue;
    if (!cpi_.take(pass_, account.spec.handle, account.group->group(), cpus)) break;
  }
  cpi_turn_ = turn;
  if (!cpi_.missing()) return;
  for (AccountMeasured& one : measured_.accounts) one.cpi.fail(now, Validity::kMissing);
}

}  // namespace tidemark::agent
