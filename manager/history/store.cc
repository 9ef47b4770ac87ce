#include "manager/history/store.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "manager/capacity/capacity_patch.h"
#include "model/reason.h"

namespace tidemark::manager {
namespace {

using model::Reason;

constexpr base::Duration kUnwanted = std::chrono::seconds(5);
constexpr base::Duration kIdle = std::chrono::seconds(30);        // between two looks whether there is anything to do
constexpr base::Duration kRetryAfter = std::chrono::seconds(10);  // after what went wrong
constexpr base::Duration kStoreBreath = std::chrono::milliseconds(1);  // between two turns of making records
constexpr std::size_t kToldMax = 3;  // records that cannot be read, each with its own line

std::uint64_t hash_of(std::string_view text) {
  return base::TextHash().add(text).value();
}

Result<kube::ConfigMap> decode(std::string_view bytes) {
  kube::Interner interner;  // what is read here is let go of at once
  return kube::decode_config_map(bytes, {{}, {kEpochAnnotation}}, kube::KeyFilter::all(), interner);
}

}  // namespace

std::string history_map_name(std::string_view kind, std::size_t shard) {
  return base::cat("tidemark-history-", kind, "-", shard);
}

HistoryStore::HistoryStore(HistoryContext context, HistoryKind kind, HistoryOwner owner, const base::Log& log)
    : context_(std::move(context)),
      kind_(std::move(kind)),
      owner_(std::move(owner)),
      log_(log),
      wake_(context_.loop),
      records_(context_.metrics.gauge("tidemark_history_records", "Learned records that are stored.",
                                      {{"component", kind_.name}})),
      dropped_(context_.metrics.gauge("tidemark_history_dropped_records",
                                      "Learned records that are not stored for want of room: the least useful.",
                                      {{"component", kind_.name}})),
      refused_(context_.metrics.counter("tidemark_history_refused_total",
                                        "Stored records that could not be read, or are of a newer version.",
                                        {{"component", kind_.name}})),
      writes_(context_.metrics.counter("tidemark_history_writes_total", "ConfigMaps of learned records written.",
                                       {{"component", kind_.name}})),
      errors_(context_.metrics.counter("tidemark_history_errors_total",
                                       "Reads and writes of learned records that failed; they are tried again.",
                                       {{"component", kind_.name}})),
      scope_(context_.loop) {
  const std::size_t shards = std::clamp<std::size_t>(kind_.shards, 1, kHistoryShardsMax);
  for (std::size_t i = 0; i < shards; ++i) {
    shards_.emplace_back(
        OwnedMap(context_.config_namespace, history_map_name(kind_.name, i), decode, context_.write_limit));
  }
}

void HistoryStore::start() {
  scope_.spawn(run());
}

void HistoryStore::changed() {
  if (!dirty_) wake_.set();
  dirty_ = true;
}

net::Task<void> HistoryStore::run() {
  std::optional<base::MonotonicTime> written;
  while (true) {
    wake_.clear();
    base::Duration pause = kUnwanted;
    if (owner_.wanted()) {
      const bool leading = context_.leadership.leading();
      const auto epoch = leading ? context_.leadership.epoch() : std::nullopt;
      if (leading && (!led_ || epoch != led_epoch_)) {
        // The previous leader may have written since.
        for (Shard& shard : shards_) shard.known = false;
        dirty_ = true;  // so that every shard carries this epoch, and what the last leader has under way is refused
        written.reset();
      }
      led_ = leading;
      led_epoch_ = epoch;
      const base::Duration every = owner_.every();
      const auto now = context_.loop.clock().monotonic();
      const bool due = !written || now - *written >= every;
      bool good = true;
      const bool unknown = std::ranges::any_of(shards_, [](const Shard& shard) { return !shard.known; });
      if (unknown && (leading || !read_complete_)) good = co_await read_shards();
      if (good && leading && dirty_ && due) {
        good = co_await write_shards();
        if (good) written = context_.loop.clock().monotonic();
      }
      if (!good) {
        errors_.add();
        pause = std::max(kRetryAfter, std::min(every, kHistoryEvery));
      } else {
        pause = std::min(every, kIdle);
      }
    }
    co_await wake_.wait_for(pause);
  }
}

net::Task<bool> HistoryStore::read_shards() {
  bool good = true;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    if (shards_[i].known) continue;
    auto done = co_await read_shard(i);
    if (done) continue;
    good = false;
    log_.warn("cannot read learned data; learning continues without it; retrying",
              {{"config_map", shards_[i].map.name()}, {"error", done.error()}});
    break;  // the others would most likely fail alike
  }
  if (good) read_complete_ = true;
  show();
  co_return good;
}

net::Task<Result<void>> HistoryStore::read_shard(std::size_t index) {
  Shard& shard = shards_[index];
  TM_CO_TRY(const auto map, co_await shard.map.read(context_.reader));
  shard.known = true;
  shard.epoch = 0;
  shard.kept.clear();
  if (map) take(shard, *map);
  co_return Result<void>();
}

void HistoryStore::take(Shard& shard, const kube::ConfigMap& map) {
  shard.epoch = read_epoch(map.meta.annotations.get(kEpochAnnotation));
  std::size_t unreadable = 0;
  std::size_t newer = 0;
  std::string first;
  for (const auto& [key, text] : map.data) {
    const std::string_view value = text.view();
    Shard::Kept& kept = shard.kept[std::string(key.view())];
    kept = {hash_of(value), key.size() + value.size(), false};
    auto stored = decode_history(key, value);
    if (stored && stored->version.schema > kind_.version.schema) {
      refused_.add();
      kept.newer = true;
      ++newer;
      continue;
    }
    Result<void> done;
    if (!stored) {
      done = std::unexpected(std::move(stored).error());
    } else if (stored->version.schema < kind_.version.schema - 1) {
      done = fail(ErrorKind::kUnsupported, "of schema ", stored->version.schema, "; this version reads ",
                  kind_.version.schema - 1, " and ", kind_.version.schema);
    } else {
      done = owner_.take(*stored);
    }
    if (done) continue;
    ++unreadable;
    if (first.empty()) first = base::cat(base::in_quotes(key), ": ", done.error().message);
    if (unreadable <= kToldMax) {
      log_.warn(model::reason_sentence(Reason::kHistoryUnreadable),
                {{"config_map", shard.map.name()},
                 {"key", key.view()},
                 {"error", done.error()},
                 {"reason", model::reason_id(Reason::kHistoryUnreadable)}});
    }
  }
  if (newer > 0) {
    log_.warn(
        model::reason_sentence(Reason::kHistoryNewer),
        {{"config_map", shard.map.name()}, {"records", newer}, {"reason", model::reason_id(Reason::kHistoryNewer)}});
  }
  if (unreadable > 0) refused(shard, unreadable, first);
}

void HistoryStore::refused(const Shard& shard, std::size_t count, const std::string& first) {
  refused_.add(count);
  dirty_ = true;  // they are taken away
  if (!context_.leadership.leading()) return;
  context_.recorder.record(shard.map.reference(), kube::EventSeverity::kWarning, "TidemarkHistoryUnreadable",
                           base::cat(model::reason_sentence(Reason::kHistoryUnreadable), " (", count,
                                     count == 1 ? " record; " : " records; the first: ", first, ") [",
                                     model::reason_id(Reason::kHistoryUnreadable), "]"));
}

net::Task<std::vector<HistoryRecord>> HistoryStore::make_records(std::vector<std::string> names) {
  std::vector<HistoryRecord> records;
  records.reserve(names.size());
  std::size_t made = 0;
  for (const std::string& name : names) {
    if (auto record = owner_.record(name)) records.push_back(std::move(*record));
    if (++made % kHistoryTurn == 0) co_await context_.loop.sleep(kStoreBreath);
  }
  co_return records;
}

net::Task<bool> HistoryStore::write_shards() {
  dirty_ = false;
  std::vector<std::vector<std::string>> by_shard(shards_.size());
  for (std::string& name : owner_.names()) {
    const std::size_t index = history_shard(name, shards_.size());
    by_shard[index].push_back(std::move(name));
  }
  std::size_t dropped = 0;
  bool good = true;
  for (std::size_t i = 0; i < shards_.size() && good; ++i) {
    std::vector<HistoryRecord> records = co_await make_records(std::move(by_shard[i]));
    if (!context_.leadership.leading()) {
      dirty_ = true;
      co_return true;
    }
    Shard& shard = shards_[i];
    const std::int64_t epoch = context_.leadership.epoch().value_or(shard.epoch);
    if (shard.epoch > epoch) {
      log_.error("learned data has a higher epoch: another manager leads, or the Lease was recreated",
                 {{"config_map", shards_[i].map.name()}, {"epoch", epoch}, {"found", shard.epoch}});
      context_.leadership.found_higher(shard.epoch);
      good = false;
      break;
    }
    // What a newer version left there has its place while ours fits beside it.
    const std::size_t newer = shard.newer_bytes();
    ShardContent content = fill_shard(records, kind_.version, newer);
    if (content.dropped > 0 && newer > 0) {
      for (auto& [key, kept] : shard.kept) kept.newer = false;
      content = fill_shard(std::move(records), kind_.version, 0);
    }
    dropped += content.dropped;
    auto done = co_await write_shard(i, std::move(content), epoch);
    if (done) continue;
    shards_[i].known = false;
    good = false;
    log_.warn("cannot store learned data; retrying", {{"config_map", shards_[i].map.name()}, {"error", done.error()}});
  }
  if (!good) dirty_ = true;
  dropped_.set(static_cast<double>(dropped));
  if (dropped > 0 && !no_room_told_) {
    log_.warn(model::reason_sentence(Reason::kHistoryNoRoom),
              {{"kind", kind_.name}, {"dropped", dropped}, {"reason", model::reason_id(Reason::kHistoryNoRoom)}});
  }
  no_room_told_ = dropped > 0;
  show();
  co_return good;
}

net::Task<Result<void>> HistoryStore::write_shard(std::size_t index, ShardContent content, std::int64_t epoch) {
  const Shard& shard = shards_[index];
  std::map<std::string, Shard::Kept, std::less<>> after;
  std::vector<const std::pair<std::string, std::string>*> changed;
  for (const auto& entry : content.texts) {
    const auto& [key, text] = entry;
    const Shard::Kept kept{hash_of(text), key.size() + text.size(), false};
    const auto was = shard.kept.find(key);
    if (was == shard.kept.end() || was->second.hash != kept.hash) changed.push_back(&entry);
    after.emplace(key, kept);
  }
  std::vector<std::string> gone;
  for (const auto& [key, kept] : shard.kept) {
    if (after.contains(key)) continue;
    if (kept.newer) {
      after.emplace(key, kept);
    } else {
      gone.push_back(key);
    }
  }
  if (shard.map.exists() && changed.empty() && gone.empty() && shard.epoch == epoch) co_return Result<void>();

  MapChanges data;
  for (const auto* entry : changed) data.emplace(entry->first, entry->second);
  for (const auto& key : gone) data.emplace(key, std::nullopt);
  TM_CO_TRY_VOID(co_await shards_[index].map.write(context_.writer, std::move(data),
                                                   {{std::string(kEpochAnnotation), base::cat(epoch)}}));
  writes_.add();
  Shard& written = shards_[index];
  written.epoch = epoch;
  written.kept = std::move(after);
  co_return Result<void>();
}

std::size_t HistoryStore::Shard::newer_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [key, each] : kept) bytes += each.newer ? each.bytes : 0;
  return bytes;
}

void HistoryStore::show() {
  std::size_t records = 0;
  for (const Shard& shard : shards_) records += shard.kept.size();
  records_.set(static_cast<double>(records));
}

}  // namespace tidemark::manager
