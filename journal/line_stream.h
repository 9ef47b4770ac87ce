// Sends lines of files (journal/audit_file.h) to a collector, so that they outlive the machine:
//
//   POST URL   content-type: application/x-ndjson   x-tidemark-source: worker-17      one line each, whole ones
//
// The files are the buffer: lines that the collector does not take wait in them, and are deleted with the oldest file.
// The next process sends the rest. A line may come twice, after a crash or a lost answer; skipped lines are always
// reported.
//
//   2xx                            taken
//   413                            fewer lines are tried; a single line that is too large is given up
//   400, 415, 422                  given up: these lines would be refused for ever
//   anything else, or no answer    tried again, later and later
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "journal/tail.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::journal {

inline constexpr std::size_t kStreamBytesMax = std::size_t{512} << 10;    // of one request
inline constexpr base::Duration kStreamEvery = std::chrono::seconds(10);  // where all was taken
inline constexpr base::Duration kStreamLimit = std::chrono::seconds(30);  // of one request
inline constexpr base::Duration kStreamBackoffMax = std::chrono::minutes(5);

struct LineStreamOptions {
  std::vector<std::string> files;
  std::string state_file;               // where it is kept how far they were sent
  std::string target;                   // path of the collector's URL
  std::string source;                   // the sender
  std::function<std::string()> bearer;  // may be empty
};

class LineStream {
 public:
  // All of them outlive it.
  LineStream(net::EventLoop& loop, net::HttpTransport& collector, net::WorkerPool& worker, base::Log log,
             base::Registry& metrics, base::Random random, LineStreamOptions options);
  LineStream(const LineStream&) = delete;
  LineStream& operator=(const LineStream&) = delete;

  net::Task<void> run();                 // for ever
  bool rests() const { return rests_; }  // between two rounds

 private:
  using Places = std::map<std::string, TailPlace, std::less<>>;
  enum class Answer : std::uint8_t { kTaken, kTooMuch, kNever, kLater };
  net::Task<bool> begin();
  net::Task<bool> round();  // false: the collector does not take it, or the disk does not give it
  net::Task<bool> send_file(const std::string& file);
  net::Task<Answer> post(std::string lines);
  net::Task<bool> keep();
  void turn(bool well, const std::string& why);

  net::EventLoop& loop_;
  net::HttpTransport& collector_;
  net::WorkerPool& worker_;
  base::Log log_;
  base::Counter& sent_;
  base::Counter& given_up_;
  base::Counter& skipped_;
  base::Counter& failures_;
  base::Gauge& behind_;
  base::Random random_;
  base::Backoff backoff_;
  LineStreamOptions options_;
  Places places_;
  std::map<std::string, std::int64_t, std::less<>> behind_of_;
  std::size_t bytes_max_ = kStreamBytesMax;
  bool begun_ = false;
  bool in_trouble_ = false;
  bool rests_ = false;
};

}  // namespace tidemark::journal
