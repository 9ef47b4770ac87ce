#include "yarn_operator/take_back.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "hadoop/containers.h"
#include "policy/yarn_total/yarn_total.h"

namespace tidemark::yarn_operator {
namespace {

constexpr base::Duration kAskAgain = std::chrono::milliseconds(20);
constexpr base::Duration kLookAgain = std::chrono::milliseconds(100);

constexpr std::int64_t kHoldMax_s = std::chrono::duration_cast<std::chrono::seconds>(kKeepMax).count();

struct Named {
  std::string name;
  hadoop::ContainerId id;
};

// One node's, on its way.
struct Going {
  const Taking* of = nullptr;
  std::vector<Named> there;  // named, and not gone
  model::TakenBack answer;
  std::int64_t given_mib = 0;
  bool shrunk = false;
};

void refuse(Going& going, std::string_view why) {
  going.there.clear();
  going.answer.gone.clear();
  going.answer.stayed.clear();
  going.answer.refused = std::string(why);
}

// Moves those that are gone. `first`: sums up what they were given.
net::Task<void> ask(ClusterLink& link, Going& going, bool first) {
  std::vector<Named> there;
  for (Named& each : std::exchange(going.there, {})) {
    const auto report = co_await link.container(each.id);
    if ((!report && report.error().kind == ErrorKind::kNotFound) || (report && report->complete)) {
      going.answer.gone.push_back(std::move(each.name));
    } else if (!report) {
      refuse(going, report.error().message);
      co_return;
    } else if (report->node != going.of->nm) {
      going.answer.stayed.push_back(std::move(each.name));  // another node's: no total of this one ends it
    } else {
      if (first) going.given_mib += std::max<std::int64_t>(report->given.memory_mib, 0);
      there.push_back(std::move(each));
    }
  }
  going.there = std::move(there);
}

Going begin(const Taking& taking) {
  Going going;
  going.of = &taking;
  going.answer.generation = taking.request.generation;
  if (taking.age > kAskedAgoMax || taking.age < -kAskedAgoMax) {
    refuse(going, "it was asked long ago, or the clocks of node and operator differ");
    return going;
  }
  for (const std::string& name : taking.request.containers) {
    auto id = hadoop::parse_container_id(name);
    if (!id) {
      refuse(going, id.error().message);
      break;
    }
    going.there.push_back({name, *id});
  }
  return going;
}

std::optional<Shrink> shrink_of(Going& going, const ClusterLink& link) {
  const hadoop::NodeReport* report = link.find(going.of->nm);
  if (report == nullptr || !hadoop::is_active(report->state)) {
    refuse(going, base::cat(going.of->nm.text(), " is not active at its ResourceManager"));
    return std::nullopt;
  }
  const auto take = policy::yarn_take({report->used.memory_mib, report->used.vcores},
                                      {report->capability.memory_mib, report->capability.vcores},
                                      going.of->offered_vcores, going.given_mib);
  Shrink shrink{going.of->nm, report->capability, model::Reason::kYarnTakenBack};
  shrink.total.memory_mib = take.memory_mib;
  shrink.total.vcores = take.vcores;
  going.answer.keep_mib = take.memory_mib;
  const base::Duration hold = std::chrono::seconds(std::min<std::int64_t>(going.of->request.hold_seconds, kHoldMax_s));
  going.answer.until = going.of->now + hold;
  going.shrunk = true;
  return shrink;
}

bool fits(const Going& going, const ClusterLink& link) {
  const hadoop::NodeReport* report = link.find(going.of->nm);
  return report == nullptr || report->used.memory_mib <= *going.answer.keep_mib;
}

}  // namespace

namespace {

// By what it says now, those that it does not know yet are gone, and a total would end them too.
void refuse_unknown(Going& going, const ClusterLink& link, const Result<void>& seen) {
  if (!seen) {
    refuse(going, seen.error().message);
  } else if (link.may_hold_more(going.of->nm)) {
    refuse(going,
           base::cat("the ResourceManager of ", going.of->nm.text(), " does not know all of its containers yet"));
  }
}

}  // namespace

net::Task<std::vector<Taken>> take_back(net::EventLoop& loop, ClusterLink& link, std::vector<Taking> takings,
                                        std::function<bool()> may_write) {
  std::vector<Going> all;
  all.reserve(takings.size());
  for (const Taking& each : takings) all.push_back(begin(each));
  const auto seen = co_await link.refresh();
  for (Going& each : all) {
    if (!each.there.empty()) refuse_unknown(each, link, seen);
    if (!each.there.empty()) co_await ask(link, each, true);
  }
  // What began while they were asked for is not to end in their place.
  if (std::ranges::any_of(all, [](const Going& each) { return !each.there.empty(); })) {
    const auto now = co_await link.refresh();
    for (Going& each : all) {
      if (!each.there.empty()) refuse_unknown(each, link, now);
    }
  }
  if (!may_write()) co_return std::vector<Taken>();  // another replica leads now, and answers

  std::vector<Shrink> shrinks;
  for (Going& each : all) {
    if (each.there.empty()) continue;
    if (auto shrink = shrink_of(each, link)) shrinks.push_back(*std::move(shrink));
  }
  if (!shrinks.empty()) {
    const auto done = co_await link.shrink(std::move(shrinks));
    for (Going& each : all) {
      if (!done && each.shrunk) refuse(each, done.error().message);
    }
  }

  const base::MonotonicTime end = loop.clock().monotonic() + kGoneWithin;
  base::MonotonicTime look = loop.clock().monotonic() + kLookAgain;
  bool last = false;
  while (true) {
    bool waits = false;
    for (Going& each : all) {
      if (!each.there.empty()) co_await ask(link, each, false);
      waits = waits || !each.there.empty();
    }
    const base::MonotonicTime now = loop.clock().monotonic();
    if (!waits || last || now >= end) break;
    co_await loop.sleep(kAskAgain);
    if (now < look) continue;
    // Others went in their place where the rest fits: no total ends anybody else.
    look = now + kLookAgain;
    if (!co_await link.refresh()) continue;
    last = std::ranges::all_of(all, [&](const Going& each) { return each.there.empty() || fits(each, link); });
  }

  std::vector<Taken> taken;
  for (Going& each : all) {
    for (Named& one : each.there) each.answer.stayed.push_back(std::move(one.name));
    taken.push_back({each.of->node, std::move(each.answer)});
  }
  co_return taken;
}

}  // namespace tidemark::yarn_operator
