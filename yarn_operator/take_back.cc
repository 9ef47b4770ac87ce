#include "yarn_operator/take_back.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "policy/sell/yarn_total.h"
#include "yarn_operator/at_once.h"

namespace tidemark::yarn_operator {
namespace {

constexpr base::Duration kAskAgain = std::chrono::milliseconds(20);
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

constexpr std::int64_t kHoldMax_s = std::chrono::duration_cast<std::chrono::seconds>(kKeepMax).count();

}  // namespace

TakingBack::TakingBack(net::EventLoop& loop, ClusterLink& link, MayWrite may_write, Answer answer)
    : loop_(loop), link_(link), may_write_(std::move(may_write)), answer_(std::move(answer)) {}

void TakingBack::add(Taking taking) {
  const auto [place, is_new] = going_.try_emplace(taking.node);
  if (!is_new) return;
  Going& going = place->second;
  going.of = std::move(taking);
  going.begin = loop_.clock().monotonic();
  going.answer.generation = going.of.request.generation;
  if (going.of.age > kAskedAgoMax || going.of.age < -kAskedAgoMax) {
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

net::Task<void> TakingBack::run() {
  if (std::exchange(running_, true)) co_return;
  while (!going_.empty()) {
    co_await follow(still_there(true));
    if (loop_.clock().monotonic() >= next_look_) co_await look(still_there(false), still_there(true));
    answer_done();
    if (!going_.empty()) co_await loop_.sleep(kAskAgain);
  }
  running_ = false;
}

std::vector<TakingBack::Going*> TakingBack::still_there(bool shrunk) {
  std::vector<Going*> found;
  for (auto& [node, each] : going_) {
    if (!each.there.empty() && each.shrunk == shrunk) found.push_back(&each);
  }
  return found;
}

// Runs after the requests, so that a container that started meanwhile does not end instead of a named one, and so that
// an answer of a ResourceManager that does not know all containers yet is not used.
net::Task<void> TakingBack::look(std::vector<Going*> fresh, std::vector<Going*> ending) {
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
  if (may_write_()) co_await shrink(fresh);
}

void TakingBack::rest_after(base::Duration took) {
  next_look_ = loop_.clock().monotonic() + std::clamp(took * kRests, kLookAgain, kRestMax);
}

net::Task<void> TakingBack::ask(const std::vector<Going*>& of) {
  std::vector<Named*> named;
  for (Going* each : of) {
    for (Named& one : each->there) named.push_back(&one);
  }
  co_await at_once(loop_, named.size(), kAskedAtOnce, [&](std::size_t at) { return ask_one(*named[at]); });
  for (Going* each : of) hear(*each);
}

net::Task<void> TakingBack::ask_one(Named& named) {
  named.said.emplace(co_await link_.container(named.id));
}

// Moves the containers that are gone.
void TakingBack::hear(Going& going) {
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
      if (!going.shrunk) going.given_mib += std::max<std::int64_t>(report->given.memory_mib, 0);
      there.push_back(std::move(each));
    }
  }
  going.there = std::move(there);
}

net::Task<void> TakingBack::shrink(const std::vector<Going*>& fresh) {
  std::vector<Shrink> shrinks;
  for (Going* each : fresh) {
    if (auto shrink = shrink_of(*each)) shrinks.push_back(*std::move(shrink));
  }
  if (shrinks.empty()) co_return;
  const auto done = co_await link_.shrink(std::move(shrinks));
  const base::MonotonicTime now = loop_.clock().monotonic();
  next_look_ = std::max(next_look_, now + kLookAgain);  // no container ends sooner
  for (Going* each : fresh) {
    each->end = now + kGoneWithin;
    if (!done && each->shrunk) refuse(*each, done.error().message);
  }
}

std::optional<Shrink> TakingBack::shrink_of(Going& going) const {
  const hadoop::NodeReport* report = link_.find(going.of.nm);
  if (report == nullptr || !hadoop::is_active(report->state)) {
    refuse(going, base::cat(going.of.nm.text(), " is not active at its ResourceManager"));
    return std::nullopt;
  }
  const auto take = policy::sell::yarn_take({report->used.memory_mib, report->used.vcores},
                                            {report->capability.memory_mib, report->capability.vcores},
                                            going.of.offered_vcores, going.given_mib);
  Shrink shrink{going.of.nm, report->capability, model::Reason::kYarnTakenBack};
  shrink.total.memory_mib = take.memory_mib;
  shrink.total.vcores = take.vcores;
  going.answer.keep_mib = take.memory_mib;
  const base::Duration hold = std::chrono::seconds(std::min<std::int64_t>(going.of.request.hold_seconds, kHoldMax_s));
  going.answer.until = going.of.now + hold;
  going.shrunk = true;
  return shrink;
}

net::Task<void> TakingBack::follow(std::vector<Going*> ending) {
  co_await ask(ending);
  const base::MonotonicTime now = loop_.clock().monotonic();
  for (Going* each : ending) {
    if (each->last) each->end = now;
  }
}

bool TakingBack::fits(const Going& going) const {
  const hadoop::NodeReport* report = link_.find(going.of.nm);
  return report == nullptr || report->used.memory_mib <= *going.answer.keep_mib;
}

void TakingBack::refuse(Going& going, std::string_view why) {
  going.there.clear();
  going.answer.gone.clear();
  going.answer.stayed.clear();
  going.answer.refused = std::string(why);
}

void TakingBack::answer_done() {
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (!may_write_()) {  // another replica leads now and answers the untouched requests
    std::erase_if(going_, [](const auto& each) { return !each.second.shrunk; });
  }
  std::vector<Going> done;
  for (auto at = going_.begin(); at != going_.end();) {
    Going& each = at->second;
    if (each.there.empty() || (each.shrunk && each.end <= now)) {
      done.push_back(std::move(each));
      at = going_.erase(at);
    } else {
      ++at;
    }
  }
  for (Going& each : done) {
    for (Named& one : each.there) each.answer.stayed.push_back(std::move(one.name));
    answer_(each.of, each.answer);
  }
}

}  // namespace tidemark::yarn_operator
