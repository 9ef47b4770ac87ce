// Keeps learned data over restarts and leader changes: named records of one kind in a fixed number of ConfigMaps, each
// bounded (manager/history/record.h), `tidemark-history-KIND-0` and so on.
//
//   read    at the start, and again by a new leader; record by record: unreadable ones are omitted, reported, and
//           removed with the next write
//   write   by the leader, on change, at most once in `every`; each ConfigMap on the revision that was read, with the
//           leader's epoch, so that a former leader cannot write an old state
//
// Records of a newer schema stay while there is room, because a downgraded manager may be upgraded again.
//
// Every replica learns on its own. The store gives a process its initial data, and no part waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "manager/history/record.h"
#include "manager/leadership.h"
#include "manager/maps/owned_map.h"
#include "net/loop.h"

namespace tidemark::manager {

inline constexpr std::size_t kHistoryTurn = 64;  // records made between two breaths of the loop
inline constexpr base::Duration kHistoryEvery = std::chrono::minutes(10);

struct HistoryKind {
  std::string name;        // "profiles"
  HistoryVersion version;  // what is written now
  std::size_t shards = kHistoryShardsMax;
};

std::string history_map_name(std::string_view kind, std::size_t shard);

struct HistoryOwner {
  // Whether anything is to be kept. While not, nothing is asked of the API server.
  std::function<bool()> wanted;
  std::function<base::Duration()> every;
  // A record that was found: once at the start, and again when this process takes over the lead, when what it learned
  // meanwhile is as good. Its schema is that of now or the one before. An error: it cannot be read.
  std::function<Result<void>(const StoredRecord&)> take;
  // What there is to keep now: the names first, then one record after the other, with others in between; nullopt where
  // it is not worth it, or gone meanwhile.
  std::function<std::vector<std::string>()> names;
  std::function<std::optional<HistoryRecord>(const std::string& name)> record;
};

struct HistoryContext {
  net::EventLoop& loop;
  kube::Reader& reader;
  kube::Writer& writer;
  kube::EventRecorder& recorder;
  base::Registry& metrics;
  Leadership leadership;
  std::string config_namespace;
  base::Duration write_limit = std::chrono::seconds(4);
};

class HistoryStore {
 public:
  HistoryStore(HistoryContext context, HistoryKind kind, HistoryOwner owner, const base::Log& log);

  void start();                                 // until destroyed
  void changed();                               // there is something new to keep
  void look() { wake_.set(); }                  // settings or leadership changed
  bool read() const { return read_complete_; }  // all there was at the start is taken

 private:
  struct Shard {
    explicit Shard(OwnedMap owned) : map(std::move(owned)) {}
    bool known = false;  // what follows is what the server had, or has after our own write
    OwnedMap map;
    std::int64_t epoch = 0;
    struct Kept {
      std::uint64_t hash = 0;  // of the text
      std::size_t bytes = 0;   // with its key
      bool newer = false;      // not read here
    };
    std::map<std::string, Kept, std::less<>> kept;  // by key
    std::size_t newer_bytes() const;
  };

  net::Task<void> run();
  net::Task<bool> read_shards();
  net::Task<Result<void>> read_shard(std::size_t index);
  void take(Shard& shard, const kube::ConfigMap& map);
  void refused(const Shard& shard, std::size_t count, const std::string& first);
  net::Task<bool> write_shards();
  net::Task<std::vector<HistoryRecord>> make_records(std::vector<std::string> names);
  net::Task<Result<void>> write_shard(std::size_t index, ShardContent content, std::int64_t epoch);
  void show();

  HistoryContext context_;
  HistoryKind kind_;
  HistoryOwner owner_;
  base::Log log_;
  std::vector<Shard> shards_;
  bool dirty_ = false;
  bool read_complete_ = false;
  bool led_ = false;
  std::optional<std::int64_t> led_epoch_;
  bool no_room_told_ = false;
  net::Event wake_;
  base::Gauge& records_;
  base::Gauge& dropped_;
  base::Counter& refused_;
  base::Counter& writes_;
  base::Counter& errors_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
