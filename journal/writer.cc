#include "journal/writer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "journal/frame.h"

namespace tidemark::journal {
namespace {

// With what nobody else holds: the labels and annotations of its node are most of a decision. What many records share
// is somebody else's to bound.
std::size_t bytes_of(const Entry& entry) {
  std::size_t bytes = entry.payload.size() + sizeof(Entry);
  for (const auto& blob : entry.needs) {
    if (blob.use_count() == 1) bytes += blob->bytes.size();
  }
  return bytes;
}

bool too_large(const Entry& entry) {
  return entry.payload.size() > kPayloadMax ||
         std::any_of(entry.needs.begin(), entry.needs.end(),
                     [](const auto& blob) { return blob != nullptr && blob->bytes.size() >= kPayloadMax; });
}

}  // namespace

Writer::Writer(net::EventLoop& loop, base::Log log, base::Registry& metrics, StoreOptions options)
    : loop_(loop),
      log_(std::move(log)),
      options_(std::move(options)),
      kept_(metrics.counter("tidemark_journal_records_total", "Records written to the journal.")),
      lost_(metrics.counter("tidemark_journal_lost_total", "Records that the journal could not keep.")),
      deleted_(metrics.counter("tidemark_journal_segments_deleted_total", "Old segments deleted to stay in bounds.")),
      bytes_(metrics.gauge("tidemark_journal_bytes", "Size of the journal on disk.")),
      working_(metrics.gauge("tidemark_journal_working", "1 while the journal can be written.")),
      something_(loop),
      idle_(loop),
      worker_(1, 1),
      scope_(loop) {}

void Writer::start() {
  scope_.spawn(run());
}

void Writer::add(Entry entry) {
  if (too_large(entry)) return lost(1, "a record is larger than records may be");
  const std::size_t bytes = bytes_of(entry);
  if (waiting_bytes_ + bytes > kWaitingMax) {
    return lost(1, "the disk takes them more slowly than they come, or not at all");
  }
  waiting_bytes_ += bytes;
  waiting_.push_back(std::move(entry));
  idle_.clear();
  something_.set();
}

// Told once, until it is over.
void Writer::lost(std::size_t records, const std::string& why) {
  lost_.add(records);
  lost_untold_ += records;
  working_.set(0);
  if (in_trouble_) return;
  in_trouble_ = true;
  log_.error("the journal does not keep what is decided; all else goes on",
             {{"directory", options_.directory}, {"why", why}});
}

net::Task<bool> Writer::drain(base::Duration limit) {
  if (waiting_.empty() && !busy_) co_return true;
  co_return co_await idle_.wait_for(limit);
}

net::Task<bool> Writer::open() {
  using Opened = Result<std::shared_ptr<Store>>;
  const auto opened = co_await worker_.run<Opened>(loop_, [options = options_]() -> Opened {
    TM_TRY(auto store, Store::open(options));
    return std::shared_ptr<Store>(std::move(store));
  });
  if (opened && *opened) {
    store_ = **opened;
    working_.set(1);
    bytes_.set(static_cast<double>(store_->bytes_used()));
    log_.info("journal opened", {{"directory", options_.directory}, {"bytes_max", options_.bytes_max}});
    co_return true;
  }
  lost(0, opened ? opened->error().message : opened.error().message);
  co_return false;
}

net::Task<void> Writer::write_waiting() {
  auto entries = std::make_shared<std::vector<Entry>>();
  std::uint64_t telling = 0;
  if (lost_untold_ > 0) {
    telling = lost_untold_;
    entries->push_back({encode(Lost{telling}), {}});
  }
  for (auto& entry : std::exchange(waiting_, {})) entries->push_back(std::move(entry));
  waiting_bytes_ = 0;
  const auto appended = co_await worker_.run<Appended>(
      loop_, [store = store_, entries, now = loop_.clock().wall()] { return store->append(*entries, now); });
  if (!appended) {
    lost(entries->size() - (telling > 0 ? 1 : 0), appended.error().message);
    co_return;
  }
  const Appended& done = *appended;
  deleted_.add(done.segments_deleted);
  bytes_.set(static_cast<double>(done.bytes_used));
  // What is told stands first, and is no decision itself: neither kept nor lost counts it.
  const bool told = telling > 0 && done.first_kept;
  kept_.add(done.kept - (told ? 1 : 0));
  if (told) lost_untold_ -= telling;
  if (done.lost > 0) {
    lost(done.lost - (telling > 0 && !told ? 1 : 0), done.problem);
    co_return;
  }
  working_.set(1);
  if (!done.problem.empty()) {
    log_.warn("old parts of the journal were given up for new ones",
              {{"why", done.problem}, {"segments_deleted", done.segments_deleted}});
  }
  if (in_trouble_) log_.info("the journal is written again", {{"records_lost", telling}});
  in_trouble_ = false;
}

net::Task<void> Writer::run() {
  while (!co_await open()) co_await loop_.sleep(kOpenAgain);
  while (true) {
    co_await something_.wait();
    something_.clear();
    busy_ = true;
    while (!waiting_.empty()) co_await write_waiting();
    busy_ = false;
    idle_.set();
  }
}

}  // namespace tidemark::journal
