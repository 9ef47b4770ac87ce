#include "manager/settings/eviction_tally.h"

#include <algorithm>
#include <map>

#include "kube/decode.h"

namespace tidemark::manager {
namespace {
constexpr std::int64_t kCountMax = 1'000'000;  // of one event
constexpr std::size_t kSeenMax = 100'000;
}  // namespace

Result<EvictionEvent> decode_eviction_event(std::string_view bytes, kube::Interner& interner) {
  kube::Decoder decoder(bytes, interner);
  EvictionEvent event;
  kube::Text about_kind;
  kube::Text about_name;
  kube::Text host;
  std::optional<base::WallTime> event_time;
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      kube::read_meta(decoder, {}, event.meta);
    } else if (key == "involvedObject") {
      decoder.object([&](std::string_view member) {
        if (member == "kind") {
          decoder.interned(about_kind);
        } else if (member == "name") {
          decoder.text(about_name);
        } else {
          decoder.skip();
        }
      });
    } else if (key == "source") {
      decoder.object([&](std::string_view member) {
        if (member != "host") return decoder.skip();
        decoder.interned(host);
      });
    } else if (key == "count") {
      decoder.integer(event.count);
    } else if (key == "lastTimestamp") {
      decoder.time(event.last);
    } else if (key == "eventTime") {
      decoder.time(event_time);
    } else {
      decoder.skip();
    }
  });
  TM_TRY_VOID(decoder.finish("Event"));
  if (event.meta.name.empty()) return fail(ErrorKind::kInvalid, "Event: metadata.name: wanted a string");
  event.node = about_kind == std::string_view("Node") ? about_name : host;
  event.count = std::clamp<std::int64_t>(event.count, 1, kCountMax);
  if (!event.last) event.last = event_time ? event_time : event.meta.created;
  return event;
}

void EvictionTally::changed(const EvictionEvent* before, const EvictionEvent& after, bool listed, base::WallTime now) {
  const std::int64_t more = after.count - (before == nullptr ? 0 : before->count);
  if (more <= 0 || after.node.empty()) return;
  const base::WallTime when = listed ? std::min(after.last.value_or(now), now) : now;
  if (seen_.size() >= kSeenMax) seen_.pop_front();
  seen_.push_back({when, std::string(after.node), more});
}

std::vector<policy::PoolEvictions> EvictionTally::count(
    base::WallTime now, base::Duration window, const std::function<std::string(std::string_view node)>& pool_of) {
  std::erase_if(seen_, [&](const Seen& each) { return now - each.when > kKept; });
  std::map<std::string, std::int64_t> pools;
  for (const Seen& each : seen_) {
    if (now - each.when >= window) continue;
    const std::string pool = pool_of(each.node);
    if (!pool.empty()) pools[pool] += each.count;
  }
  std::vector<policy::PoolEvictions> found;
  found.reserve(pools.size());
  for (const auto& [pool, evictions] : pools) found.push_back({pool, evictions});
  return found;
}

}  // namespace tidemark::manager
