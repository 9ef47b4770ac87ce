#include "policy/evict/budget/book.h"

#include <algorithm>
#include <limits>

namespace tidemark::policy::evict {
namespace {

constexpr std::int64_t kCountMax = std::int64_t{1} << 40;  // per slot; sums stay within range

std::int64_t index_of(base::WallTime when, base::Duration slot) {
  const auto since = when.since_epoch / slot;
  return when.since_epoch < base::Duration(0) ? since - 1 : since;
}

void add(Series& series, std::int64_t index, const Ended& more) {
  auto at = std::ranges::lower_bound(series.slots, index, {}, &Series::Slot::index);
  if (at == series.slots.end() || at->index != index) at = series.slots.insert(at, {index, {}});
  at->ended.evicted = std::min(at->ended.evicted + more.evicted, kCountMax);
  at->ended.finished = std::min(at->ended.finished + more.finished, kCountMax);
}

Ended sum(const Series& series, std::int64_t from, std::int64_t to) {
  Ended sum;
  for (const auto& slot : series.slots) {
    if (slot.index >= from && slot.index <= to) sum += slot.ended;
  }
  return sum;
}

template <class Map>
void forget(Map& map, base::Duration slot, base::Duration kept, base::WallTime now) {
  const std::int64_t from = index_of(now + -kept, slot);
  const std::int64_t to = index_of(now, slot);
  for (auto& [key, series] : map) {
    std::erase_if(series.slots, [&](const Series::Slot& each) { return each.index < from || each.index > to; });
  }
  std::erase_if(map, [](const auto& entry) { return entry.second.slots.empty(); });
}

std::string cut(std::string_view name) {
  return std::string(name.substr(0, kNameMax));
}

}  // namespace

void count(EvictionBook& book, const TaskEnd& end, base::WallTime when, base::WallTime now) {
  when = std::min(when, now);
  if (now - when >= kDayKept || end.pool.empty() || end.times <= 0) return;
  const Ended one{end.evicted ? end.times : 0, end.evicted ? 0 : end.times};
  const std::string pool = cut(end.pool);
  if (now - when < kMinutesKept && (book.minutes.contains(pool) || book.minutes.size() < kPoolSeriesMax)) {
    add(book.minutes[pool], index_of(when, kMinute), one);
  }
  PoolAnd work_class{pool, cut(end.work_class)};
  if (!book.classes.contains(work_class) && book.classes.size() >= kClassSeriesMax) work_class.second = kOther;
  // The `other` series of each pool may come on top: the settings bound the number of pools.
  if (book.classes.contains(work_class) || book.classes.size() < kClassSeriesMax + kPoolSeriesMax) {
    add(book.classes[work_class], index_of(when, kSlot), one);
  }
  if (!end.evicted || end.job.empty()) return;
  const PoolAnd job{pool, cut(end.job)};
  if (!book.jobs.contains(job) && book.jobs.size() >= kJobSeriesMax) {
    book.left_out = std::min(book.left_out + end.times, kCountMax);
    return;
  }
  add(book.jobs[job], index_of(when, kSlot), one);
}

void count_preempted(EvictionBook& book, std::string_view pool, std::int64_t tasks, base::WallTime when,
                     base::WallTime now) {
  when = std::min(when, now);
  if (now - when >= kMinutesKept || pool.empty() || tasks <= 0) return;
  const std::string name = cut(pool);
  if (!book.preempted.contains(name) && book.preempted.size() >= kPoolSeriesMax) return;
  add(book.preempted[name], index_of(when, kMinute), {tasks, 0});
}

void forget_old(EvictionBook& book, base::WallTime now) {
  forget(book.minutes, kMinute, kMinutesKept, now);
  forget(book.preempted, kMinute, kMinutesKept, now);
  forget(book.classes, kSlot, kDayKept, now);
  forget(book.jobs, kSlot, kDayKept, now);
  if (book.jobs.size() < kJobSeriesMax) book.left_out = 0;
}

Ended lately(const EvictionBook& book, std::string_view pool, base::Duration window, base::WallTime since,
             base::WallTime now) {
  const auto at = book.minutes.find(pool);
  if (at == book.minutes.end()) return {};
  window = std::clamp(window, kMinute, kMinutesKept);
  const std::int64_t from = index_of(std::max(now + -window, since), kMinute);
  return sum(at->second, from, index_of(now, kMinute));
}

std::int64_t preempted_lately(const EvictionBook& book, std::string_view pool, base::WallTime now) {
  const auto at = book.preempted.find(pool);
  if (at == book.preempted.end()) return 0;
  return sum(at->second, index_of(now + -kMinutesKept, kMinute), index_of(now, kMinute)).evicted;
}

std::int64_t used_of_hour(const EvictionBook& book, std::string_view pool, base::WallTime now) {
  return lately(book, pool, kMinutesKept, {}, now).evicted + preempted_lately(book, pool, now);
}

Ended of_day(const EvictionBook& book, std::string_view pool, std::string_view work_class, base::WallTime now) {
  const auto at = book.classes.find(PoolAnd{pool, work_class});
  if (at == book.classes.end()) return {};
  return sum(at->second, index_of(now + -kDayKept, kSlot) + 1, index_of(now, kSlot));
}

Ended of_day(const EvictionBook& book, std::string_view pool, base::WallTime now) {
  Ended all;
  for (auto at = book.classes.lower_bound(PoolAnd{pool, ""}); at != book.classes.end() && at->first.first == pool;
       ++at) {
    all += sum(at->second, index_of(now + -kDayKept, kSlot) + 1, index_of(now, kSlot));
  }
  return all;
}

JobEvictions of_job(const Series& job, base::WallTime now) {
  const std::int64_t to = index_of(now, kSlot);
  return {sum(job, index_of(now + -kMinutesKept, kSlot), to).evicted,
          sum(job, index_of(now + -kDayKept, kSlot) + 1, to).evicted};
}

}  // namespace tidemark::policy::evict
