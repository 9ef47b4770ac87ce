#include "policy/sell/usage/usage_history.h"

#include <algorithm>
#include <utility>

namespace tidemark::policy::sell {
namespace {

UsageSample sample_of(const UsageReading& reading, MemoryCollect kind) {
  return {reading.at, reading.cpu_micro, reading.memory.of(kind)};
}

void add(UsageHistory::Series& series, const UsageReading& reading, MemoryCollect kind) {
  series.told.add(sample_of(reading, kind));
  if (series.plain) series.plain->add(sample_of(reading, MemoryCollect::kWithoutPageCache));
}

struct ByName {
  template <class Named>
  bool operator()(const Named& a, std::string_view b) const {
    return a.name < b;
  }
};

template <class All>
auto* find_in(All& all, std::string_view name) {
  const auto at = std::lower_bound(all.begin(), all.end(), name, ByName());
  return at != all.end() && at->name == name ? &at->series : nullptr;
}

}  // namespace

std::optional<std::int64_t> MemoryReading::of(MemoryCollect kind) const {
  switch (kind) {
    case MemoryCollect::kWithHotPageCache:
      return with_hot_page_cache_bytes;
    case MemoryCollect::kWithPageCache:
      return with_page_cache_bytes;
    case MemoryCollect::kWithoutPageCache:
      break;
  }
  return without_page_cache_bytes;
}

UsageHistory::Series::Series(base::Duration window, bool keep_plain) : told(window) {
  if (keep_plain) plain.emplace(kTrainingWindow);
}

std::size_t UsageHistory::Series::bytes() const {
  return told.bytes() + (plain ? plain->bytes() : sizeof(plain));
}

UsageHistory::UsageHistory(const CollectInForce& collect)
    : collect_(collect), node_(collect.node_window(), keeps_plain()), system_(collect.node_window()) {}

void UsageHistory::set_collect(const CollectInForce& collect) {
  const bool other_memory = collect.memory != collect_.memory;
  collect_ = collect;
  const auto change = [&](Series& series, base::Duration window) {
    series.told.set_window(window);
    if (!other_memory) return;
    series.told.forget_memory();
    if (keeps_plain() != series.plain.has_value()) {
      series.plain = keeps_plain() ? std::optional<SampleRing>(kTrainingWindow) : std::nullopt;
    }
  };
  change(node_, collect_.node_window());
  system_.set_window(collect_.node_window());
  if (other_memory) system_.forget_memory();
  for (auto* all : {&pods_, &host_applications_}) {
    for (Named& each : *all) change(each.series, collect_.aggregate);
  }
  for (NumaSeries& each : numa_nodes_) {
    each.node.set_window(collect_.aggregate);
    each.system.set_window(collect_.aggregate);
  }
}

UsageHistory::Series& UsageHistory::series_of(std::vector<Named>& all, std::size_t at, std::string_view name) {
  if (at < all.size() && all[at].name == name) return all[at].series;
  const auto place = all.begin() + static_cast<std::ptrdiff_t>(at);
  return all.insert(place, {std::string(name), Series(collect_.aggregate, keeps_plain())})->series;
}

void UsageHistory::take(std::vector<Named>& all, std::size_t most, std::span<const NamedReading> readings) {
  for (const NamedReading& each : readings) {
    const auto found = std::lower_bound(all.begin(), all.end(), each.name, ByName());
    const bool known = found != all.end() && found->name == each.name;
    if (!known && all.size() >= most) {
      ++refused_;
      continue;
    }
    add(series_of(all, static_cast<std::size_t>(found - all.begin()), each.name), each.reading, collect_.memory);
  }
}

void UsageHistory::forget(std::vector<Named>& all, base::MonotonicTime at) const {
  std::erase_if(all, [&](const Named& each) {
    const auto newest = each.series.told.newest();
    return !newest || at - *newest > collect_.aggregate;
  });
}

void UsageHistory::observe(const NodeReadings& readings) {
  add(node_, readings.node, collect_.memory);
  take(pods_, kUsagePodsMax, readings.pods);
  take(host_applications_, kUsageHostApplicationsMax, readings.host_applications);
  forget(pods_, readings.at);
  forget(host_applications_, readings.at);

  system_.add(sample_of(readings.system, collect_.memory));

  for (const NumaReading& each : readings.numa_nodes) {
    auto at = std::lower_bound(numa_nodes_.begin(), numa_nodes_.end(), each.numa_node_id,
                               [](const NumaSeries& a, std::int32_t id) { return a.numa_node_id < id; });
    if (at == numa_nodes_.end() || at->numa_node_id != each.numa_node_id) {
      if (numa_nodes_.size() >= kUsageNumaNodesMax) {
        ++refused_;
        continue;
      }
      at = numa_nodes_.insert(at, {each.numa_node_id, SampleRing(collect_.aggregate), SampleRing(collect_.aggregate)});
    }
    at->node.add(sample_of(each.reading, MemoryCollect::kWithoutPageCache));
    at->system.add(sample_of(each.system, MemoryCollect::kWithoutPageCache));
  }
}

const UsageHistory::Series* UsageHistory::pod(std::string_view uid) const {
  return find_in(pods_, uid);
}

const UsageHistory::Series* UsageHistory::host_application(std::string_view name) const {
  return find_in(host_applications_, name);
}

std::optional<UsageFigures> UsageHistory::training_sample(const Series& series, base::MonotonicTime now,
                                                          WindowScratch& scratch) {
  constexpr float kTrainingPercentile = 0.9F;
  const SampleRing& ring = series.plain ? *series.plain : series.told;
  return ring.percentile(now, kTrainingWindow, kTrainingPercentile, scratch);
}

std::size_t UsageHistory::bytes() const {
  std::size_t bytes = sizeof(UsageHistory) + node_.bytes() + system_.bytes();
  for (const auto* all : {&pods_, &host_applications_}) {
    bytes += (all->capacity() - all->size()) * sizeof(Named);
    for (const Named& each : *all) bytes += sizeof(Named) + each.name.capacity() + each.series.bytes();
  }
  for (const NumaSeries& each : numa_nodes_) bytes += sizeof(NumaSeries) + each.node.bytes() + each.system.bytes();
  return bytes;
}

}  // namespace tidemark::policy::sell
