#include "journal/writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "journal/frame.h"

namespace tidemark::journal {
namespace {

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
      bytes_(metrics.gauge("tidemark_journal_bytes", "Size of the journal on disk.")),
      working_(metrics.gauge("tidemark_journal_working", "1 while the journal can be written.")),
      backlog_(loop, log_, backlog_options(metrics)),
      scope_(loop) {}

BacklogOptions Writer::backlog_options(base::Registry& metrics) {
  return {.bytes_max = kWaitingMax,
          .place = options_.directory,
          .trouble = "the journal does not keep what is decided; all else goes on",
          .over = "the journal is written again",
          .kept = metrics.counter("tidemark_journal_records_total", "Records written to the journal."),
          .lost = metrics.counter("tidemark_journal_lost_total", "Records that the journal could not keep."),
          .mark = [](std::uint64_t records) { return Entry{encode(Lost{records}), {}}; },
          .append =
              [this] {
                return [store = store_, now = loop_.clock().wall()](const std::vector<Entry>& entries) {
                  return store->append(entries, now);
                };
              },
          .appended = [this](const Appended& done) { appended(done); },
          .turned = [this](bool well) { working_.set(well ? 1 : 0); }};
}

void Writer::start() {
  scope_.spawn(open_then_write());
}

void Writer::add(Entry entry) {
  if (too_large(entry)) return backlog_.lose(1, "a record is larger than records may be");
  backlog_.add(std::move(entry));
}

net::Task<bool> Writer::open() {
  using Opened = Result<std::shared_ptr<Store>>;
  const auto opened = co_await backlog_.worker().run<Opened>(loop_, [options = options_]() -> Opened {
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
  backlog_.lose(0, opened ? opened->error().message : opened.error().message);
  co_return false;
}

void Writer::appended(const Appended& done) {
  bytes_.set(static_cast<double>(done.bytes_used));
  if (done.lost == 0 && !done.problem.empty()) {
    log_.warn("old parts of the journal were given up for new ones",
              {{"why", done.problem}, {"segments_deleted", done.segments_deleted}});
  }
}

net::Task<void> Writer::open_then_write() {
  while (!co_await open()) co_await loop_.sleep(kOpenAgain);
  backlog_.start();
}

}  // namespace tidemark::journal
