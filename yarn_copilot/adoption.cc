#include "yarn_copilot/adoption.h"

#include <utility>
#include <vector>

namespace tidemark::yarn_copilot {
namespace {

constexpr std::size_t kPassesWaitingMax = 4;

struct Listed {
  std::string id;
  model::Resources holds;
};

struct PassReport {
  std::vector<std::string> adopted;
  std::set<std::string> unlisted;  // have a cgroup, but are not listed as running
  std::vector<std::pair<std::string, Error>> refused;
};

// `unlisted` is from the previous pass: a NodeManager makes an empty cgroup a moment before it lists its container.
PassReport adopt_all(const Machine& machine, const std::vector<Listed>& listed, const std::set<std::string>& running,
                     const std::set<std::string>& unlisted) {
  PassReport out;
  for (const Listed& each : listed) {
    const auto moved = machine.adopt(each.id, each.holds);
    if (!moved) {
      out.refused.emplace_back(each.id, moved.error());
    } else if (*moved > 0) {
      out.adopted.push_back(each.id);
    }
  }
  for (const std::string& id : machine.groups()) {
    if (running.contains(id)) continue;
    out.unlisted.insert(id);
    if (!unlisted.contains(id)) continue;
    if (auto removed = machine.remove_empty(id); !removed) out.refused.emplace_back(id, std::move(removed).error());
  }
  // Ends the waiting parents of a container that has ended.
  if (auto removed = machine.remove_waiting(); !removed)
    out.refused.emplace_back(kWaitingGroup, std::move(removed).error());
  return out;
}

}  // namespace

Adoption::Adoption(net::EventLoop& loop, Containers& containers, const Machine& machine, base::Log log,
                   base::Duration interval)
    : loop_(loop),
      containers_(containers),
      machine_(machine),
      log_(std::move(log)),
      interval_(interval),
      worker_(1, kPassesWaitingMax) {}

net::Task<void> Adoption::run() {
  for (;;) {
    co_await pass();
    co_await loop_.sleep(interval_);
  }
}

net::Task<void> Adoption::pass() {
  const auto listed = co_await containers_.running(Detail::kPlain);
  if (!listed) co_return;  // without a list, no container is known to have ended
  std::vector<Listed> work_on;
  std::set<std::string> running;
  for (const SeenContainer& each : *listed) {
    running.insert(each.said.id);
    // A vcore gets the weight that a NodeManager gives it, regardless of its CPU value.
    if (each.yarn && each.began) work_on.push_back({each.said.id, each.peer_counts()});
  }
  std::function<PassReport()> work = [machine = &machine_, work_on, running, unlisted = unlisted_] {
    return adopt_all(*machine, work_on, running, unlisted);
  };
  auto done = co_await worker_.run(loop_, std::move(work));
  if (!done) co_return;
  unlisted_ = std::move(done->unlisted);
  for (const std::string& id : done->adopted) {
    log_.info("container is in its cgroup in every hierarchy", {{"container", id}, {"group", machine_.group_of(id)}});
  }
  for (const auto& [id, error] : done->refused) tell(id, error);
  std::erase_if(told_, [&](const std::string& id) {
    return id != kWaitingGroup && !running.contains(id) && !unlisted_.contains(id);
  });
}

void Adoption::tell(const std::string& container, const Error& error) {
  if (told_.insert(container).second) {
    log_.warn("cannot move container into its cgroup or remove it", {{"container", container}, {"error", error}});
  }
}

}  // namespace tidemark::yarn_copilot
