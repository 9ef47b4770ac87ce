#include "yarn_operator/agent_reclaims.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "policy/sell/yarn_total.h"
#include "yarn_operator/at_once.h"

namespace tidemark::yarn_operator {
namespace {

constexpr base::Duration kAskAgain = std::chrono::milliseconds(20);
constexpr base::Duration kAskAgainInGrace = std::chrono::seconds(1);
// A request lists all nodes of the cluster, at a ResourceManager that also allocates containers. Listings take at most
// a fifth of the time. A slow ResourceManager may exceed that, because an agent waits for three seconds.
constexpr base::Duration kLookAgain = std::chrono::milliseconds(100);
constexpr int kRests = 4;  // multiple of the time that it took
constexpr base::Duration kRestMax = std::chrono::milliseconds(500);
// After this wait the agent ends the named containers itself: to take others would be too much.
constexpr base::Duration kTooLate = std::chrono::milliseconds(2500);
// Concurrent requests. A ResourceManager answers all clients with 50 threads
// (yarn.resourcemanager.client.thread-count).
constexpr std::size_t kAskedAtOnce = 16;

constexpr std::int64_t kGraceMax_s = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::hours(1)).count();
constexpr std::int64_t kHoldMax_s = std::chrono::duration_cast<std::chrono::seconds>(kKeepMax).count();

}  // namespace

AgentReclaims::AgentReclaims(net::EventLoop& loop, ClusterLink& link, MayWrite may_write, Answer answer)
    : loop_(loop), link_(link), may_write_(std::move(may_write)), answer_(std::move(answer)), more_(loop) {}

void AgentReclaims::add(AgentReclaim reclaim) {
  added_.push_back(std::move(reclaim));
  more_.set();
}

bool AgentReclaims::has(const std::string& node, std::int64_t generation) const {
  const auto going = going_.find(node);
  if (going != going_.end() && going->second.of.request.generation >= generation) return true;
  return std::ranges::any_of(
      added_, [&](const AgentReclaim& each) { return each.node == node && each.request.generation >= generation; });
}

void AgentReclaims::begin_added() {
  const base::MonotonicTime now = loop_.clock().monotonic();
  for (AgentReclaim& each : std::exchange(added_, {})) {
    const auto [place, is_new] = going_.try_emplace(each.node);
    Going& going = place->second;
    if (is_new) {
      begin(going, std::move(each));
    } else if (going.is_in_grace(now) && each.request.generation > going.of.request.generation) {
      const auto deadline = going.deadline;
      going = Going();
      begin(going, std::move(each));
      going.deadline = deadline;
    }
  }
}

void AgentReclaims::begin(Going& going, AgentReclaim reclaim) {
  going.of = std::move(reclaim);
  going.begin = loop_.clock().monotonic();
  going.answer.generation = going.of.request.generation;
  const base::Duration old = kAskedAgoMax + std::chrono::seconds(going.of.request.grace_seconds);
  if (going.of.age > old || going.of.age < -kAskedAgoMax) {
    refuse(going, "the request is too old, or the clocks of node and operator differ");
    return;
  }
  for (const std::string& name : going.of.request.containers) {
    auto id = hadoop::parse_container_id(name);
    if (!id) {
      refuse(going, id.error().message);
      return;
    }
    going.there.push_back({name, *id});
  }
}

net::Task<void> AgentReclaims::run() {
  if (std::exchange(running_, true)) co_return;
  begin_added();
  while (!going_.empty()) {
    co_await follow(to_ask());
    if (loop_.clock().monotonic() >= next_look_) {
      const base::MonotonicTime now = loop_.clock().monotonic();
      std::vector<Going*> ending = still_there(true);
      std::erase_if(ending, [&](const Going* each) { return each->is_in_grace(now); });
      co_await look(still_there(false), std::move(ending));
    }
    answer_done();
    begin_added();
    if (!going_.empty()) co_await more_.wait_for(pause());
    more_.clear();
  }
  running_ = false;
}

base::Duration AgentReclaims::pause() const {
  const base::MonotonicTime now = loop_.clock().monotonic();
  base::Duration least = kAskAgainInGrace;
  for (const auto& [node, each] : going_) {
    least = std::min(least, each.is_in_grace(now) ? std::min(each.next_ask, *each.deadline) - now : kAskAgain);
  }
  return std::max(least, kAskAgain);
}

std::vector<AgentReclaims::Going*> AgentReclaims::still_there(bool preempting) {
  std::vector<Going*> found;
  for (auto& [node, each] : going_) {
    if (!each.there.empty() && each.preempting == preempting) found.push_back(&each);
  }
  return found;
}

// An application may give up its containers before the deadline.
std::vector<AgentReclaims::Going*> AgentReclaims::to_ask() {
  const base::MonotonicTime now = loop_.clock().monotonic();
  std::vector<Going*> found = still_there(true);
  std::erase_if(found, [&](const Going* each) { return each->is_in_grace(now) && now < each->next_ask; });
  for (Going* each : found) each->next_ask = now + kAskAgainInGrace;
  return found;
}

// Runs after the requests, so that a container that started meanwhile does not end instead of a named one, and so that
// an answer of a ResourceManager that does not know all containers yet is not used.
net::Task<void> AgentReclaims::look(std::vector<Going*> fresh, std::vector<Going*> ending) {
  co_await ask(fresh);
  const base::MonotonicTime begin = loop_.clock().monotonic();
  std::erase_if(fresh, [](const Going* each) { return each->is_refused(); });
  std::erase_if(ending, [&](const Going* each) { return each->end <= begin; });
  if (fresh.empty() && ending.empty()) co_return;
  const auto seen = co_await link_.refresh_nodes();
  const base::MonotonicTime now = loop_.clock().monotonic();
  rest_after(now - begin);
  for (Going* each : fresh) {
    if (now - each->begin > kTooLate) {
      refuse(*each, "the ResourceManager took too long to answer");
    } else if (!seen) {
      refuse(*each, seen.error().message);
    } else if (link_.may_hold_more(each->of.nm)) {
      refuse(*each,
             base::cat("the ResourceManager of ", each->of.nm.text(), " does not know all of its containers yet"));
    }
  }
  // Others ended instead if the rest fits: no further total is sent. The named ones are requested once more.
  for (Going* each : ending) each->last = seen && fits(*each);
  std::erase_if(fresh, [](const Going* each) { return each->there.empty(); });
  if (may_write_()) co_await preempt(fresh);
}

void AgentReclaims::rest_after(base::Duration took) {
  next_look_ = loop_.clock().monotonic() + std::clamp(took * kRests, kLookAgain, kRestMax);
}

net::Task<void> AgentReclaims::ask(const std::vector<Going*>& of) {
  std::vector<Named*> named;
  for (Going* each : of) {
    for (Named& one : each->there) named.push_back(&one);
  }
  co_await at_once(loop_, named.size(), kAskedAtOnce, [&](std::size_t at) { return ask_one(*named[at]); });
  for (Going* each : of) hear(*each);
}

net::Task<void> AgentReclaims::ask_one(Named& named) {
  named.said.emplace(co_await link_.container(named.id));
}

// Moves the containers that are gone.
void AgentReclaims::hear(Going& going) {
  std::vector<Named> there;
  for (Named& each : std::exchange(going.there, {})) {
    const Result<hadoop::ContainerReport>& report = *each.said;
    if ((!report && report.error().kind == ErrorKind::kNotFound) || (report && report->complete)) {
      going.answer.gone.push_back(std::move(each.name));
    } else if (!report) {
      refuse(going, report.error().message);
      return;
    } else if (report->node != going.of.nm) {
      going.answer.stayed.push_back(std::move(each.name));  // on another node: no total of this node ends it
    } else {
      if (!going.preempting) going.given_mib += std::max<std::int64_t>(report->given.memory_mib, 0);
      there.push_back(std::move(each));
    }
  }
  going.there = std::move(there);
}

net::Task<void> AgentReclaims::preempt(const std::vector<Going*>& fresh) {
  std::vector<Preemption> preemptions;
  for (Going* each : fresh) {
    if (auto preemption = preemption_of(*each)) preemptions.push_back(*std::move(preemption));
  }
  if (preemptions.empty()) co_return;
  const auto done = co_await link_.preempt(std::move(preemptions));
  const base::MonotonicTime now = loop_.clock().monotonic();
  next_look_ = std::max(next_look_, now + kLookAgain);  // no container ends sooner
  for (Going* each : fresh) {
    if (!each->preempting) continue;
    const bool in_grace = each->is_in_grace(now);
    each->end = in_grace ? *each->deadline + kGoneAfterGrace : now + kGoneWithin;
    each->next_ask = now + kAskAgainInGrace;
    if (!done) {
      refuse(*each, done.error().message);
    } else if (!done->contains(each->of.nm)) {
      refuse(*each, base::cat("its ResourceManager refused the total of ", each->of.nm.text()));
    } else if (in_grace) {
      tell_leaving(*each);
    }
  }
}

std::optional<Preemption> AgentReclaims::preemption_of(Going& going) const {
  const hadoop::NodeReport* report = link_.find(going.of.nm);
  if (report == nullptr || !hadoop::is_active(report->state)) {
    refuse(going, base::cat(going.of.nm.text(), " is not active at its ResourceManager"));
    return std::nullopt;
  }
  const auto take = policy::sell::yarn_take({report->used.memory_mib, report->used.vcores},
                                            {report->capability.memory_mib, report->capability.vcores},
                                            going.of.offered_vcores, going.given_mib);
  const base::Duration grace = grace_of(going);
  Preemption preemption{going.of.nm, report->capability, model::Reason::kYarnAgentReclaimed, grace};
  preemption.total.memory_mib = take.memory_mib;
  preemption.total.vcores = take.vcores;
  going.answer.keep_mib = take.memory_mib;
  going.deadline = loop_.clock().monotonic() + grace;
  going.preempting = true;
  return preemption;
}

// What is left of it: the agent counts it from its request.
base::Duration AgentReclaims::grace_of(const Going& going) const {
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (going.deadline) return std::max(*going.deadline - now, base::Duration(0));
  const base::Duration whole = std::chrono::seconds(std::min(going.of.request.grace_seconds, kGraceMax_s));
  const base::Duration passed = std::max(going.of.age, base::Duration(0)) + (now - going.begin);
  return std::max(whole - passed, base::Duration(0));
}

base::WallTime AgentReclaims::kept_until(const Going& going, base::Duration after) const {
  const base::Duration hold = std::chrono::seconds(std::min(going.of.request.hold_seconds, kHoldMax_s));
  return loop_.clock().wall() + std::min(after + hold, kKeepMax);
}

void AgentReclaims::tell_leaving(const Going& going) {
  model::ReclaimAnswer answer = going.answer;
  for (const Named& each : going.there) answer.leaving.push_back(each.name);
  answer.until = kept_until(going, *going.deadline - loop_.clock().monotonic());
  answer_(going.of, answer);
}

net::Task<void> AgentReclaims::follow(std::vector<Going*> ending) {
  co_await ask(ending);
  const base::MonotonicTime now = loop_.clock().monotonic();
  for (Going* each : ending) {
    if (each->last) each->end = now;
  }
}

bool AgentReclaims::fits(const Going& going) const {
  const hadoop::NodeReport* report = link_.find(going.of.nm);
  return report == nullptr || report->used.memory_mib <= *going.answer.keep_mib;
}

void AgentReclaims::refuse(Going& going, std::string_view why) {
  going.there.clear();
  going.answer.gone.clear();
  going.answer.stayed.clear();
  going.answer.refused = std::string(why);
}

void AgentReclaims::answer_done() {
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (!may_write_()) {  // another replica leads now and answers the open requests
    std::erase_if(going_, [&](const auto& each) { return !each.second.preempting || each.second.is_in_grace(now); });
  }
  std::vector<Going> done;
  for (auto at = going_.begin(); at != going_.end();) {
    Going& each = at->second;
    if (each.there.empty() || (each.preempting && each.end <= now)) {
      done.push_back(std::move(each));
      at = going_.erase(at);
    } else {
      ++at;
    }
  }
  for (Going& each : done) {
    for (Named& one : each.there) each.answer.stayed.push_back(std::move(one.name));
    if (each.answer.keep_mib) each.answer.until = kept_until(each, base::Duration(0));
    answer_(each.of, each.answer);
  }
}

}  // namespace tidemark::yarn_operator
