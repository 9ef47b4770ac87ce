// The objects on disk: one SQLite file, written ahead, a transaction a batch. What write() answered is on disk; a
// killed process loses nothing that was acknowledged.
//
// An object of this class belongs to one worker thread at a time; opening and reading happens before there is any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/memory/store.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tidemark::kube::memory {

class SqliteLog {
 public:
  static constexpr int kSchema = 1;  // a newer file is refused, an older one would be brought up

  // Makes the file where there is none. Errors name the path: a file of a newer schema, one that is not ours, one that
  // is damaged, one that another process has open. `pages_max` bounds the file, in pages of 4 KiB; 0: only the disk
  // does.
  static Result<std::unique_ptr<SqliteLog>> open(const std::string& path, std::int64_t pages_max = 0);
  ~SqliteLog();

  // Hands over every object; answers the newest revision.
  Result<std::int64_t> read(const std::function<Result<void>(std::string_view storage, std::string_view key,
                                                             std::string_view body)>& on_object);
  // All of it or nothing. A full disk is kExhausted.
  Result<void> write(const std::vector<LogRecord>& records);

 private:
  SqliteLog(std::string path, sqlite3* db) : path_(std::move(path)), db_(db) {}
  Result<void> prepare(std::int64_t pages_max);
  Result<void> execute(const char* sql);
  std::unexpected<Error> failed(std::string_view doing) const;

  std::string path_;
  sqlite3* db_;
  sqlite3_stmt* put_ = nullptr;
  sqlite3_stmt* erase_ = nullptr;
  sqlite3_stmt* revision_ = nullptr;
};

}  // namespace tidemark::kube::memory
