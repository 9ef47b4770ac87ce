// Entries of a journal or an audit that wait for the disk. add() takes an entry and returns at once; a worker's thread
// writes the collected entries. A disk error never blocks the caller: lost entries are counted, logged once per failure
// period, and marked by an entry before the next one that is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "journal/store.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::journal {

struct BacklogOptions {
  std::size_t bytes_max = 0;  // that may wait
  std::string place;          // the file or folder, for the log
  std::string_view trouble;   // for the log: what is not done during a disk error
  std::string_view over;      // and when it is over
  base::Counter& kept;        // entries, without marks
  base::Counter& lost;
  std::function<Entry(std::uint64_t lost)> mark;  // says that so many are missing here
  // Called on the loop before each write; the returned function runs on the worker's thread, one at a time.
  std::function<std::function<Appended(const std::vector<Entry>&)>()> append;
  std::function<void(const Appended&)> appended;  // on the loop, after each
  std::function<void(bool well)> turned;          // on the loop: entries are kept, or lost
};

class Backlog {
 public:
  Backlog(net::EventLoop& loop, base::Log log, BacklogOptions options);

  void start();  // until destroyed; entries added before wait
  void add(Entry entry);
  // So many entries are lost; none where the trouble is only known.
  void lose(std::uint64_t entries, const std::string& why);
  // True once all that was added is written or given up; false when the time ran out.
  net::Task<bool> drain(base::Duration limit);
  net::WorkerPool& worker() { return worker_; }  // the one thread that writes

 private:
  net::Task<void> run();
  net::Task<void> write_waiting();
  void turn(bool well);

  net::EventLoop& loop_;
  base::Log log_;
  BacklogOptions options_;
  std::vector<Entry> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t lost_untold_ = 0;  // since the last mark
  bool in_trouble_ = false;        // logged, until it is over
  bool busy_ = false;
  net::Event something_;
  net::Event idle_;
  net::WorkerPool worker_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::journal
