#include "manager/history/store.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
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
constexpr std::size_t kToldMax = 3;                               // records that cannot be read, each with its own line

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
      shards_(std::clamp<std::size_t>(kind_.shards, 1, kHistoryShardsMax)),
      wake_(context_.loop),
      records_(context_.metrics.gauge("tidemark_history_records", "Learned records that are stored.",
                                      {{"component", kind_.name}})),
      bytes_(context_.metrics.gauge("tidemark_history_bytes", "Bytes of learned records that are stored.",
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
      scope_(context_.loop) {}

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
        // Whoever led before may have written since.
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
    log_.warn("what was learned before cannot be read; learning goes on without it, and it is tried again",
              {{"config_map", history_map_name(kind_.name, i)}, {"error", done.error()}});
    break;  // the others would most likely fail alike
  }
  if (good) read_complete_ = true;
  show();
  co_return good;
}

net::Task<Result<void>> HistoryStore::read_shard(std::size_t index) {
  const std::string name = history_map_name(kind_.name, index);
  auto bytes = co_await context_.reader.get(kube::kConfigMaps, context_.config_namespace, name, context_.write_limit);
  Shard fresh;
  fresh.known = true;
  if (!bytes && bytes.error().kind != ErrorKind::kNotFound) co_return std::unexpected(std::move(bytes).error());
  if (!bytes) {
    shards_[index] = std::move(fresh);
    co_return Result<void>();
  }
  TM_CO_TRY(const kube::ConfigMap map, decode(*bytes));
  take(fresh, index, map);
  shards_[index] = std::move(fresh);
  co_return Result<void>();
}

void HistoryStore::take(Shard& shard, std::size_t index, const kube::ConfigMap& map) {
  shard.exists = true;
  shard.uid = map.meta.uid;
  shard.resource_version = map.meta.resource_version;
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
    if (first.empty()) first = base::cat(base::quoted(key), ": ", done.error().message);
    if (unreadable <= kToldMax) {
      log_.warn(model::reason_sentence(Reason::kHistoryUnreadable),
                {{"config_map", history_map_name(kind_.name, index)},
                 {"key", key.view()},
                 {"error", done.error()},
                 {"reason", model::reason_id(Reason::kHistoryUnreadable)}});
    }
  }
  if (newer > 0) {
    log_.warn(model::reason_sentence(Reason::kHistoryNewer), {{"config_map", history_map_name(kind_.name, index)},
                                                              {"records", newer},
                                                              {"reason", model::reason_id(Reason::kHistoryNewer)}});
  }
  if (unreadable > 0) refused(shard, index, unreadable, first);
}

void HistoryStore::refused(const Shard& shard, std::size_t index, std::size_t count, const std::string& first) {
  refused_.add(count);
  dirty_ = true;  // they are taken away
  if (!context_.leadership.leading()) return;
  context_.recorder.record(
      {"v1", "ConfigMap", context_.config_namespace, history_map_name(kind_.name, index), shard.uid},
      kube::EventSeverity::kWarning, "TidemarkHistoryUnreadable",
      base::cat(model::reason_sentence(Reason::kHistoryUnreadable), " (", count,
                count == 1 ? " record; " : " records; the first: ", first, ") [",
                model::reason_id(Reason::kHistoryUnreadable), "]"));
}

net::Task<bool> HistoryStore::write_shards() {
  dirty_ = false;
  std::vector<std::vector<HistoryRecord>> by_shard(shards_.size());
  for (HistoryRecord& record : owner_.records()) {
    const std::size_t index = history_shard(record.name, shards_.size());
    by_shard[index].push_back(std::move(record));
  }
  std::size_t dropped = 0;
  bool good = true;
  for (std::size_t i = 0; i < shards_.size() && good; ++i) {
    if (!context_.leadership.leading()) {
      dirty_ = true;
      co_return true;
    }
    Shard& shard = shards_[i];
    const std::int64_t epoch = context_.leadership.epoch().value_or(shard.epoch);
    if (shard.epoch > epoch) {
      log_.error("what was learned carries a higher epoch: another leads, or the lease was made anew",
                 {{"config_map", history_map_name(kind_.name, i)}, {"epoch", epoch}, {"found", shard.epoch}});
      context_.leadership.found_higher(shard.epoch);
      good = false;
      break;
    }
    // What a newer version left there has its place while ours fits beside it.
    const std::size_t newer = shard.newer_bytes();
    ShardContent content = fill_shard(by_shard[i], kind_.version, newer);
    if (content.dropped > 0 && newer > 0) {
      for (auto& [key, kept] : shard.kept) kept.newer = false;
      content = fill_shard(std::move(by_shard[i]), kind_.version, 0);
    }
    dropped += content.dropped;
    auto done = co_await write_shard(i, std::move(content), epoch);
    if (done) continue;
    shards_[i].known = false;
    good = false;
    log_.warn("what was learned could not be stored; it is tried again",
              {{"config_map", history_map_name(kind_.name, i)}, {"error", done.error()}});
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
  if (shard.exists && changed.empty() && gone.empty() && shard.epoch == epoch) co_return Result<void>();

  const std::string name = history_map_name(kind_.name, index);
  std::string body;
  base::JsonWriter json(body);
  json.begin_object();
  if (!shard.exists) json.member("apiVersion", "v1").member("kind", "ConfigMap");
  json.key("metadata").begin_object().member("name", std::string_view(name));
  if (shard.exists) json.member("resourceVersion", std::string_view(shard.resource_version));
  json.key("annotations").begin_object().member(kEpochAnnotation, base::cat(epoch)).end_object();
  json.end_object();
  json.key("data").begin_object();
  for (const auto* entry : changed) json.member(entry->first, std::string_view(entry->second));
  for (const auto& key : gone) json.key(key).null();
  json.end_object().end_object();

  kube::WriteOptions options;
  options.ns = context_.config_namespace;
  auto answer = shard.exists ? co_await context_.writer.patch(kube::kConfigMaps, name, kube::PatchType::kMerge,
                                                              std::move(body), options, context_.write_limit)
                             : co_await context_.writer.create(kube::kConfigMaps, std::move(body), options, "",
                                                               context_.write_limit);
  if (!answer) co_return std::unexpected(std::move(answer).error());
  TM_CO_TRY(const kube::ConfigMap map, decode(*answer));
  writes_.add();
  Shard& written = shards_[index];
  written.exists = true;
  written.uid = map.meta.uid;
  written.resource_version = map.meta.resource_version;
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
  std::size_t bytes = 0;
  for (const Shard& shard : shards_) {
    records += shard.kept.size();
    for (const auto& [key, each] : shard.kept) bytes += each.bytes;
  }
  records_.set(static_cast<double>(records));
  bytes_.set(static_cast<double>(bytes));
}

}  // namespace tidemark::manager
