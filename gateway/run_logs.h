// The log of each run as one growing text: steps of the gateway, and the output of its drivers on either side. A client
// that reads on from an offset sees each line once, also after a move.
//
//   FOLDER/1.log       the text; nothing in it changes, until it is removed as a whole
//   FOLDER/1.state     the steps that it has, and how far the driver's output was read
//
// The output of a driver is read when a client asks for it, and at the end of the driver. A crash between the two
// writes repeats lines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "gateway/file_store.h"
#include "gateway/record.h"
#include "gateway/side_client.h"
#include "net/loop.h"

namespace tidemark::gateway {

struct RunLogsOptions {
  std::string folder;                            // "": logs have only the steps
  std::int64_t bytes_max = 8 * 1024 * 1024;      // of the log of a run, and of an executor
  base::Duration keep = std::chrono::hours(72);  // after the last change
};

struct LogPiece {
  std::int64_t next = 0;  // offset behind the text
  std::string text;
};

class RunLogs {
 public:
  RunLogs(net::EventLoop& loop, base::Log log, RunLogsOptions options);
  // It also gets the logs of ended drivers and executors; null: there is none.
  void use_archive(LogArchive* archive) { archive_ = archive; }
  LogArchive* archive() const { return archive_; }

  void start();  // removes old logs until destroyed

  // Adds what happened since the last call. `side` of the current attempt; null: the output of its driver is not read.
  // False: the driver has ended, and its side did not show its last output.
  net::Task<bool> update(Record record, std::string app_id, SideClient* side);
  // Copies the log of a run that has ended.
  net::Task<void> archive_run(Record record);

  net::Task<Result<LogPiece>> piece(Record record, std::string app_id, std::int64_t from);
  net::Task<Result<std::vector<std::string>>> lines(Record record, std::string app_id);

  static std::string executor_path(std::int64_t run, std::string_view executor);  // in the archive

 private:
  struct State {
    std::vector<std::string> steps;
    std::int64_t attempt = 0;
    std::string position;
    bool full = false;
    bool whole = false;  // the last output of the current attempt is in it
  };
  struct Update {
    bool runs = false;
    base::MonotonicTime last;
  };
  std::string path(std::int64_t run, std::string_view ending) const;
  State load(std::int64_t run) const;
  std::size_t log_bytes_max() const;
  void add(std::int64_t run, const State& state, std::string_view text);
  void save(std::int64_t run, const State& state);
  void add_steps(std::int64_t run, State& state, const std::vector<std::string>& steps);
  net::Task<Result<std::string>> text_of(const Record& record, const std::string& app_id);
  net::Task<void> remove_old();

  net::EventLoop& loop_;
  base::Log log_;
  const RunLogsOptions options_;
  LogArchive* archive_ = nullptr;
  std::map<std::int64_t, Update> updates_;  // of runs that have not ended
  net::Scope scope_;
};

}  // namespace tidemark::gateway
