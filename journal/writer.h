// A journal for an event loop: add() takes a record and returns at once; a worker's thread does the writing. Trouble
// with the disk never stops whoever adds: what cannot be kept is counted, told in the log and by a metric, and marked
// in the journal itself once it can be written again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "journal/store.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::journal {

inline constexpr std::size_t kWaitingMax = std::size_t{16} << 20;  // bytes that wait for the disk
inline constexpr base::Duration kOpenAgain = std::chrono::seconds(30);

class Writer {
 public:
  Writer(net::EventLoop& loop, base::Log log, base::Registry& metrics, StoreOptions options);

  void start();  // until destroyed
  void add(Entry entry);
  // True once all that was added is on disk or given up; false when the time ran out.
  net::Task<bool> drain(base::Duration limit);

 private:
  net::Task<void> run();
  net::Task<bool> open();
  net::Task<void> write_waiting();
  void lost(std::size_t records, const std::string& why);

  net::EventLoop& loop_;
  base::Log log_;
  StoreOptions options_;
  base::Counter& kept_;
  base::Counter& lost_;
  base::Counter& deleted_;
  base::Gauge& bytes_;
  base::Gauge& working_;
  std::shared_ptr<Store> store_;  // used by one job of the worker at a time
  std::vector<Entry> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t lost_untold_ = 0;  // since the last record that says so
  bool in_trouble_ = false;        // told in the log, until it is over
  bool busy_ = false;
  net::Event something_;
  net::Event idle_;
  net::WorkerPool worker_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::journal
