#include "journal/backlog.h"

#include <memory>
#include <utility>

namespace tidemark::journal {
namespace {

// Includes data that only this entry holds: most of a decision is the labels and annotations of its node. The owner
// bounds shared data.
std::size_t bytes_of(const Entry& entry) {
  std::size_t bytes = entry.payload.size() + sizeof(Entry);
  for (const auto& blob : entry.needs) {
    if (blob.use_count() == 1) bytes += blob->bytes.size();
  }
  return bytes;
}

}  // namespace

Backlog::Backlog(net::EventLoop& loop, base::Log log, BacklogOptions options)
    : loop_(loop),
      log_(std::move(log)),
      options_(std::move(options)),
      something_(loop),
      idle_(loop),
      worker_(1, 1),
      scope_(loop) {}

void Backlog::start() {
  scope_.spawn(run());
}

void Backlog::add(Entry entry) {
  const std::size_t bytes = bytes_of(entry);
  if (waiting_bytes_ + bytes > options_.bytes_max) {
    return lose(1, "the disk takes them more slowly than they come, or not at all");
  }
  waiting_bytes_ += bytes;
  waiting_.push_back(std::move(entry));
  idle_.clear();
  something_.set();
}

void Backlog::turn(bool well) {
  if (options_.turned) options_.turned(well);
}

// Logged once per failure period.
void Backlog::lose(std::uint64_t entries, const std::string& why) {
  options_.lost.add(entries);
  lost_untold_ += entries;
  turn(false);
  if (in_trouble_) return;
  in_trouble_ = true;
  log_.error(options_.trouble, {{"place", options_.place}, {"why", why}});
}

net::Task<bool> Backlog::drain(base::Duration limit) {
  if (waiting_.empty() && !busy_) co_return true;
  co_return co_await idle_.wait_for(limit);
}

net::Task<void> Backlog::write_waiting() {
  auto entries = std::make_shared<std::vector<Entry>>();
  const std::uint64_t telling = lost_untold_;
  const std::size_t marks = telling > 0 ? 1 : 0;
  if (marks > 0) entries->push_back(options_.mark(telling));
  for (auto& entry : std::exchange(waiting_, {})) entries->push_back(std::move(entry));
  waiting_bytes_ = 0;
  const auto appended =
      co_await worker_.run<Appended>(loop_, [append = options_.append(), entries] { return append(*entries); });
  if (!appended) co_return lose(entries->size() - marks, appended.error().message);
  const Appended& done = *appended;
  if (options_.appended) options_.appended(done);
  // The mark stands first, and is no entry itself: neither kept nor lost counts it.
  const bool told = marks > 0 && done.first_kept;
  options_.kept.add(done.kept - (told ? 1 : 0));
  if (told) lost_untold_ -= telling;
  if (done.lost > 0) co_return lose(done.lost - (told ? 0 : marks), done.problem);
  turn(true);
  if (in_trouble_) log_.info(options_.over, {{"place", options_.place}, {"lost", telling}});
  in_trouble_ = false;
}

net::Task<void> Backlog::run() {
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
