#include "manager/settings/eviction_watch.h"

#include "base/text.h"

namespace tidemark::manager {
namespace {

// The reasons of the events: the kubelet's under pressure on the node, and that of Koordinator's agent.
constexpr std::string_view kKubeletEvicts = "Evicted";
constexpr std::string_view kAgentEvicts = "evictPodSuccess";
constexpr std::size_t kBytesMax = 16 << 20;  // of each; more evictions than that are a spike in any case

kube::InformerConfig events_of(std::string_view reason, std::string_view metrics_name) {
  kube::InformerConfig config;
  config.name = metrics_name;
  config.resource = kube::kEvents;
  config.field_selector = base::cat("reason=", reason);
  config.bytes_max = kBytesMax;
  return config;
}

}  // namespace

EvictionWatch::EvictionWatch(net::EventLoop& loop, kube::Reader& reader, kube::Watcher& watcher,
                             kube::Interner& interner, const base::Log& log, base::Registry& metrics,
                             base::Random random)
    : loop_(loop),
      kubelet_(loop, reader, watcher, log, metrics, random.fork(), events_of(kKubeletEvicts, "evictions-kubelet"),
               [&interner](std::string_view bytes) { return decode_eviction_event(bytes, interner); }),
      agent_(loop, reader, watcher, log, metrics, random.fork(), events_of(kAgentEvicts, "evictions-agent"),
             [&interner](std::string_view bytes) { return decode_eviction_event(bytes, interner); }),
      scope_(loop) {
  follow(kubelet_);
  follow(agent_);
}

void EvictionWatch::follow(kube::Informer<EvictionEvent>& events) {
  events.subscribe([this, &events](const kube::ObjectKey&, const EvictionEvent* before, const EvictionEvent* after) {
    if (after != nullptr) tally_.changed(before, *after, !events.synced(), loop_.clock().wall());
  });
  scope_.spawn(events.run());
}

net::Task<bool> EvictionWatch::wait_synced(base::Duration limit) {
  if (!co_await kubelet_.wait_synced(limit)) co_return false;
  co_return co_await agent_.wait_synced(limit);
}

std::optional<std::vector<policy::PoolEvictions>> EvictionWatch::count(
    base::Duration window, const std::function<std::string(std::string_view node)>& pool_of) {
  if (!synced()) return std::nullopt;
  return tally_.count(loop_.clock().wall(), window, pool_of);
}

}  // namespace tidemark::manager
