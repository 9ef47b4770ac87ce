#include "yarn_copilot/containers.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/text.h"

namespace tidemark::yarn_copilot {
namespace {

// Minimum interval of passes over all processes of the machine that no usage request causes.
constexpr base::Duration kScanInterval = std::chrono::seconds(5);

constexpr std::int64_t kBytesPerMib = std::int64_t{1} << 20;

std::int64_t times(std::int64_t amount, std::int64_t factor) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(amount, factor, &product)) return std::numeric_limits<std::int64_t>::max();
  return product;
}

}  // namespace

model::Resources SeenContainer::peer_counts() const {
  return {{times(said.vcores, kPeerMillicoresPerVcore)}, {times(said.memory_mib, kBytesPerMib)}};
}

model::Resources SeenContainer::holds() const {
  return {{times(said.vcores, millicores_per_vcore)}, {times(said.memory_mib, kBytesPerMib)}};
}

Containers::Containers(net::EventLoop& loop, ContainerList& list, Machine& machine, ApplicationBook& applications,
                       base::Log log, std::int64_t millicores_per_vcore)
    : loop_(loop),
      list_(list),
      machine_(machine),
      applications_(applications),
      log_(std::move(log)),
      millicores_per_vcore_(millicores_per_vcore) {}

net::Task<Result<std::vector<SeenContainer>>> Containers::running(Detail detail) {
  TM_CO_TRY(const Listing listing, co_await list_.get());
  std::vector<hadoop::NodeContainer> said;
  std::set<std::string_view> ids;
  std::set<std::string> applications;
  for (const hadoop::NodeContainer& each : listing->containers) {
    if (const auto yarn = copilot::parse_yarn_container(each.id)) applications.insert(yarn->application);
    if (hadoop::has_ended(each.state)) continue;
    said.push_back(each);
    ids.insert(each.id);
  }
  applications_.set(applications);
  std::erase_if(began_, [&](const auto& each) { return !ids.contains(each.first); });
  co_return see(std::move(said), detail);
}

net::Task<Result<std::vector<SeenContainer>>> Containers::all(Detail detail) {
  TM_CO_TRY(auto seen, co_await running(detail));
  std::vector<hadoop::NodeContainer> ended;
  if (const Listing& listing = list_.remembered()) {
    for (const hadoop::NodeContainer& each : listing->containers) {
      if (hadoop::has_ended(each.state)) ended.push_back(each);
    }
  }
  for (hadoop::NodeContainer& each : ended) {
    SeenContainer& one = seen.emplace_back();
    one.millicores_per_vcore = millicores_per_vcore_;
    one.yarn = copilot::parse_yarn_container(each.id);
    if (one.yarn) {
      if (const auto* report = applications_.find(one.yarn->application)) one.application = *report;
    }
    one.said = std::move(each);
  }
  co_return seen;
}

const hadoop::ApplicationReport* Containers::application_of(std::string_view id) const {
  const auto yarn = copilot::parse_yarn_container(id);
  return yarn ? applications_.find(yarn->application) : nullptr;
}

std::optional<SeenContainer> Containers::remembered(std::string_view id) {
  const Listing& listing = list_.remembered();
  if (!listing) return std::nullopt;
  const auto found = std::ranges::find(listing->containers, id, &hadoop::NodeContainer::id);
  if (found == listing->containers.end()) return std::nullopt;
  auto seen = see({*found}, Detail::kPlain);
  return std::move(seen.front());
}

net::Task<Result<SeenContainer>> Containers::one(std::string id, Detail detail) {
  TM_CO_TRY(const Listing listing, co_await list_.get());
  const auto found = std::ranges::find(listing->containers, id, &hadoop::NodeContainer::id);
  if (found == listing->containers.end()) {
    co_return fail(ErrorKind::kNotFound, "the NodeManager has no container ", base::in_quotes(id));
  }
  auto seen = see({*found}, detail);
  co_return std::move(seen.front());
}

std::vector<SeenContainer> Containers::see(std::vector<hadoop::NodeContainer> said, Detail detail) {
  std::vector<SeenContainer> out;
  bool without_group = false;
  for (hadoop::NodeContainer& each : said) {
    SeenContainer seen;
    seen.millicores_per_vcore = millicores_per_vcore_;
    seen.yarn = copilot::parse_yarn_container(each.id);
    // A name that could lead elsewhere has no cgroup.
    if (seen.yarn) {
      seen.group = machine_.group_of(each.id);
      if (const auto* report = applications_.find(seen.yarn->application)) seen.application = *report;
      seen.has_group = machine_.has_group(each.id);
    }
    if (const auto known = began_.find(each.id); known != began_.end()) seen.began = known->second;
    if (seen.has_group && (detail == Detail::kUse || !seen.began)) {
      if (auto use = machine_.use_of_group(each.id)) {
        seen.use = *use;
      } else {
        log_.warn("a group cannot be read", {{"container", each.id}, {"error", use.error()}});
      }
    }
    without_group |= !seen.has_group && (detail == Detail::kUse || !seen.began);
    seen.said = std::move(each);
    out.push_back(std::move(seen));
  }

  const base::MonotonicTime now = loop_.clock().monotonic();
  if (without_group && (detail == Detail::kUse || !scanned_ || now - *scanned_ >= kScanInterval)) {
    scanned_ = now;
    auto marked = machine_.marked();
    if (!marked) log_.warn("the processes of this machine cannot be read", {{"error", marked.error()}});
    for (SeenContainer& each : out) {
      if (each.has_group || !marked) continue;
      if (const auto found = marked->find(each.said.id); found != marked->end()) {
        each.use = machine_.use_of(found->second);
      }
    }
  }
  for (SeenContainer& each : out) {
    if (!each.began && each.use) each.began = wall(each.use->began);
    if (each.began && !hadoop::has_ended(each.said.state)) began_.emplace(each.said.id, *each.began);
    if (detail == Detail::kPlain) each.use.reset();
  }
  return out;
}

std::optional<base::WallTime> Containers::wall(std::optional<base::BootTime> began) const {
  if (!began) return std::nullopt;
  return base::WallTime{loop_.clock().wall().since_epoch - (loop_.clock().boot() - *began)};
}

}  // namespace tidemark::yarn_copilot
