// What run.py measures from outside.
//
//   sampler_bench measure GROUP plain|watched   pods are the groups in GROUP, containers those in them; a pass a
//                                               second, and after each tenth a line of JSON on standard output
//   sampler_bench work                          ten times a second touches some memory, until it is ended
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/sampler/sampler.h"
#include "base/text.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"

namespace tidemark::bench {
namespace {

constexpr const char* kRoot = "/sys/fs/cgroup";
constexpr std::int64_t kPassesALine = 10;

[[noreturn]] void give_up(const Error& error) {
  std::fprintf(stderr, "sampler_bench: %s\n", error.message.c_str());
  ::_exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.error());
  return std::move(*result);
}

int work() {
  std::vector<char> memory(64 << 10);
  for (std::size_t turn = 0;; ++turn) {
    std::fill(memory.begin(), memory.end(), static_cast<char>(turn));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::vector<agent::AccountSpec> accounts_in(const linux::Hierarchies& hierarchies, const std::string& group,
                                            bool watched) {
  const auto hierarchy = hierarchies.of(linux::Controller::kCpu);
  if (!hierarchy) give_up(Error{ErrorKind::kUnsupported, "no hierarchy of cpu"});
  const linux::Place place{hierarchies.all()[*hierarchy].path, group, {}};
  const auto folders = [&](const std::string& path) {
    std::vector<std::string> names;
    auto directory = must(linux::open_beneath(hierarchies.directory(*hierarchy), path, place));
    if (directory) must(linux::list_folders(directory->fd.get(), names, place));
    return names;
  };
  std::vector<agent::AccountSpec> out;
  for (const std::string& pod : folders(group)) {
    agent::AccountSpec& spec = out.emplace_back();
    spec.handle = {static_cast<std::uint32_t>(out.size() - 1), 1};
    spec.path = base::cat(group, "/", pod);
    spec.online = true;
    spec.watch_containers = watched;
    for (const std::string& container : folders(spec.path)) {
      spec.containers.push_back({container, base::cat(spec.path, "/", container)});
    }
  }
  return out;
}

int measure(const std::string& group, bool watched) {
  linux::Buffer buffer;
  const auto mounts = must(linux::read_path("/proc/self/mountinfo", buffer));
  const linux::Hierarchies hierarchies = must(linux::Hierarchies::discover(kRoot, mounts.value_or("")));
  const linux::Folder proc = must(linux::Folder::open("/proc"));
  auto numa = linux::Folder::open("/sys/devices/system/node");
  const base::SystemClock clock;
  agent::Sampler sampler({hierarchies, proc, numa ? &*numa : nullptr, true}, {}, clock);
  sampler.set_accounts(accounts_in(hierarchies, group, watched));
  base::Duration longest{0}, sum{0};
  for (std::int64_t number = 1;; ++number) {
    const agent::Measured& measured = sampler.pass();
    longest = std::max(longest, measured.pass.took);
    sum += measured.pass.took;
    if (number % kPassesALine == 0) {
      const auto now = clock.monotonic();
      const auto good = std::ranges::count_if(measured.accounts, [&](const agent::AccountMeasured& one) {
        return one.use.cpu_micro.last(now).has_value();
      });
      std::printf(
          "{\"passes\": %lld, \"accounts\": %zu, \"measured\": %lld, \"unreadable\": %d, \"mean_us\": %lld, "
          "\"longest_us\": %lld}\n",
          static_cast<long long>(number), measured.accounts.size(), static_cast<long long>(good),
          measured.pass.unreadable, static_cast<long long>(sum.count() / kPassesALine / 1000),
          static_cast<long long>(longest.count() / 1000));
      std::fflush(stdout);
      longest = sum = base::Duration(0);
    }
    std::this_thread::sleep_for(sampler.until_next());
  }
}

}  // namespace
}  // namespace tidemark::bench

int main(int count, char** words) {
  const std::vector<std::string_view> given(words, words + count);
  if (count == 2 && given[1] == "work") return tidemark::bench::work();
  if (count == 4 && given[1] == "measure") return tidemark::bench::measure(words[2], given[3] == "watched");
  std::fprintf(stderr, "sampler_bench: measure GROUP plain|watched, or work\n");
  return 2;
}
