#include "manager/profiles/profile_reader.h"

#include <utility>

#include "kube/intern.h"
#include "kube/objects.h"
#include "manager/history/store.h"

namespace tidemark::manager {

std::string profile_map(std::string_view workload) {
  return history_map_name(kProfileKind, history_shard(workload, kHistoryShardsMax));
}

net::Task<Result<StoredProfiles>> read_profiles(kube::Reader& reader, std::string config_namespace,
                                                std::string workload, base::WallTime now, base::Duration limit) {
  StoredProfiles profiles;
  for (std::size_t shard = 0; shard < kHistoryShardsMax; ++shard) {
    if (!workload.empty() && history_shard(workload, kHistoryShardsMax) != shard) continue;
    const std::string name = history_map_name(kProfileKind, shard);
    auto bytes = co_await reader.get(kube::kConfigMaps, config_namespace, name, limit);
    if (!bytes && bytes.error().kind == ErrorKind::kNotFound) continue;
    if (!bytes) co_return std::unexpected(std::move(bytes).error().within("reading the stored profiles"));
    kube::Interner interner;
    TM_CO_TRY(const auto map, kube::decode_config_map(*bytes, {}, kube::KeyFilter::all(), interner));
    profiles.maps[name] = map.meta.resource_version;
    for (const auto& [key, text] : map.data) {
      const auto stored = decode_history(key, text);
      if (!stored || stored->version.schema > kProfileVersion.schema || !profiles.book.take(*stored, now)) {
        ++profiles.unreadable;
      }
    }
  }
  co_return profiles;
}

}  // namespace tidemark::manager
