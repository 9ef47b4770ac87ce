// A journal for an event loop: add() takes a record and returns at once; a worker's thread does the writing
// (journal/backlog.h). Whether it can be written at the moment is a metric.
#pragma once

#include <cstddef>
#include <memory>

#include "base/log.h"
#include "base/metrics.h"
#include "journal/backlog.h"
#include "journal/store.h"
#include "net/loop.h"

namespace tidemark::journal {

inline constexpr std::size_t kWaitingMax = std::size_t{16} << 20;  // bytes that wait for the disk
inline constexpr base::Duration kOpenAgain = std::chrono::seconds(30);

class Writer {
 public:
  Writer(net::EventLoop& loop, base::Log log, base::Registry& metrics, StoreOptions options);

  void start();  // until destroyed
  void add(Entry entry);
  // True once all that was added is on disk or given up; false when the time ran out.
  net::Task<bool> drain(base::Duration limit) { return backlog_.drain(limit); }

 private:
  net::Task<void> open_then_write();
  net::Task<bool> open();
  BacklogOptions backlog_options(base::Registry& metrics);
  void appended(const Appended& done);

  net::EventLoop& loop_;
  base::Log log_;
  StoreOptions options_;
  base::Gauge& bytes_;
  base::Gauge& working_;
  std::shared_ptr<Store> store_;  // used by one job of the worker at a time
  Backlog backlog_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::journal
