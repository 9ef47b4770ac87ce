#include "kube/memory/sqlite_log.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/text.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

constexpr int kApplicationId = 0x54444d4b;  // "TDMK", marks a file of ours

ErrorKind kind_of(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return ErrorKind::kExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorKind::kUnavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorKind::kInvalid;
    default:
      return ErrorKind::kIo;
  }
}

class Statement {
 public:
  Statement(sqlite3* db, const char* sql) { sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  sqlite3_stmt* get() { return statement_; }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

std::string_view text_of(sqlite3_stmt* statement, int column) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
  return bytes == nullptr ? std::string_view()
                          : std::string_view(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

void bind_text(sqlite3_stmt* statement, int at, std::string_view text) {
  sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

}  // namespace

std::unexpected<Error> SqliteLog::failed(std::string_view doing) const {
  const int code = sqlite3_extended_errcode(db_);
  const bool damaged = (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
  Error error;
  error.kind = kind_of(code);
  error.code = code;
  error.message =
      cat(doing, " ", path_, ": ", sqlite3_errmsg(db_),
          damaged ? "; the file is damaged or not a database: put it aside and start with a copy or without it" : "");
  // The file is locked exclusively (prepare()).
  if ((code & 0xff) == SQLITE_BUSY) {
    error.message = cat(path_, " is in use by another server (", sqlite3_errmsg(db_),
                        "): stop that server, or use another directory");
  }
  return fail(std::move(error));
}

Result<std::unique_ptr<SqliteLog>> SqliteLog::open(const std::string& path, std::int64_t pages_max) {
  // Made here for its mode, which the files beside it take over: there are secrets in it.
  if (const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600); fd >= 0) ::close(fd);
  sqlite3* db = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  auto log = std::unique_ptr<SqliteLog>(new SqliteLog(path, db));
  if (code != SQLITE_OK) return log->failed("open");
  TM_TRY_VOID(log->prepare(pages_max));
  return log;
}

SqliteLog::~SqliteLog() {
  for (sqlite3_stmt* statement : {put_, erase_, revision_}) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

Result<void> SqliteLog::execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failed(cat("\"", sql, "\" in"));
  return {};
}

Result<void> SqliteLog::prepare(std::int64_t pages_max) {
  sqlite3_extended_result_codes(db_, 1);
  // Exclusive: a second server on the same file would overwrite what this one believes.
  TM_TRY_VOID(execute("PRAGMA locking_mode=EXCLUSIVE"));
  TM_TRY_VOID(execute("PRAGMA journal_mode=WAL"));
  TM_TRY_VOID(execute("PRAGMA synchronous=FULL"));
  if (pages_max > 0) TM_TRY_VOID(execute(cat("PRAGMA max_page_count=", pages_max).c_str()));
  TM_TRY_VOID(execute("BEGIN IMMEDIATE"));
  std::int64_t version = 0;
  std::int64_t application = 0;
  std::int64_t tables = 0;
  const struct {
    const char* sql;
    std::int64_t& out;
  } questions[] = {{"PRAGMA user_version", version},
                   {"PRAGMA application_id", application},
                   {"SELECT count(*) FROM sqlite_master", tables}};
  for (const auto& question : questions) {
    Statement statement(db_, question.sql);
    if (statement.get() == nullptr || sqlite3_step(statement.get()) != SQLITE_ROW) return failed("read");
    question.out = sqlite3_column_int64(statement.get(), 0);
  }
  if (tables != 0 && application != kApplicationId)
    return fail(ErrorKind::kInvalid, path_, " is a database, but not one of this API server: name another file");
  if (version > kSchema)
    return fail(ErrorKind::kUnsupported, path_, " has schema ", version, ", and this program knows schemas up to ",
                kSchema, ": use the newer program that wrote it");
  if (tables == 0) {
    TM_TRY_VOID(execute(cat("PRAGMA application_id=", kApplicationId).c_str()));
    TM_TRY_VOID(execute(cat("PRAGMA user_version=", kSchema).c_str()));
    TM_TRY_VOID(execute(
        "CREATE TABLE objects(storage TEXT NOT NULL, key TEXT NOT NULL, revision INTEGER NOT NULL, body BLOB NOT NULL, "
        "PRIMARY KEY(storage, key)) WITHOUT ROWID"));
    TM_TRY_VOID(execute("CREATE TABLE state(name TEXT PRIMARY KEY, value INTEGER NOT NULL)"));
    TM_TRY_VOID(execute("INSERT INTO state VALUES('revision', 1)"));
  }
  TM_TRY_VOID(execute("COMMIT"));
  const struct {
    const char* sql;
    sqlite3_stmt** out;
  } statements[] = {{"INSERT INTO objects(storage, key, revision, body) VALUES(?1, ?2, ?3, ?4) ON CONFLICT(storage, "
                     "key) DO UPDATE SET revision=?3, body=?4",
                     &put_},
                    {"DELETE FROM objects WHERE storage=?1 AND key=?2", &erase_},
                    {"UPDATE state SET value=?1 WHERE name='revision'", &revision_}};
  for (const auto& entry : statements)
    if (sqlite3_prepare_v2(db_, entry.sql, -1, entry.out, nullptr) != SQLITE_OK)
      return failed("prepare a statement in");
  return {};
}

Result<std::int64_t> SqliteLog::read(
    const std::function<Result<void>(std::string_view, std::string_view, std::string_view)>& on_object) {
  Statement check(db_, "PRAGMA quick_check(1)");
  if (check.get() == nullptr || sqlite3_step(check.get()) != SQLITE_ROW) return failed("check");
  if (text_of(check.get(), 0) != "ok")
    return fail(ErrorKind::kInvalid, path_, " is damaged (", text_of(check.get(), 0),
                "): put it aside and start with a copy or without it");
  Statement objects(db_, "SELECT storage, key, body FROM objects ORDER BY storage, key");
  int code = SQLITE_ERROR;
  while (objects.get() != nullptr && (code = sqlite3_step(objects.get())) == SQLITE_ROW) {
    const std::string_view storage = text_of(objects.get(), 0);
    const std::string_view key = text_of(objects.get(), 1);
    if (auto taken = on_object(storage, key, text_of(objects.get(), 2)); !taken)
      return fail(std::move(taken).error().within(cat(path_, ": ", storage, " ", key)));
  }
  if (code != SQLITE_DONE) return failed("read");
  Statement revision(db_, "SELECT value FROM state WHERE name='revision'");
  if (revision.get() == nullptr || sqlite3_step(revision.get()) != SQLITE_ROW) return failed("read the revision in");
  return sqlite3_column_int64(revision.get(), 0);
}

Result<void> SqliteLog::write(const std::vector<LogRecord>& records) {
  if (records.empty()) return {};
  if (sqlite3_exec(db_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) != SQLITE_OK) return failed("begin a write in");
  const auto run = [&](sqlite3_stmt* statement) {
    const int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code == SQLITE_DONE;
  };
  bool good = true;
  for (const LogRecord& record : records) {
    sqlite3_stmt* statement = record.body == nullptr ? erase_ : put_;
    bind_text(statement, 1, record.storage);
    bind_text(statement, 2, record.key);
    if (record.body != nullptr) {
      sqlite3_bind_int64(statement, 3, record.revision);
      sqlite3_bind_blob64(statement, 4, record.body->data(), record.body->size(), SQLITE_STATIC);
    }
    if (!(good = run(statement))) break;
  }
  if (good) {
    sqlite3_bind_int64(revision_, 1, records.back().revision);
    good = run(revision_);
  }
  if (good) good = sqlite3_exec(db_, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK;
  if (good) return {};
  auto error = failed("write to");
  // Some errors have rolled back already.
  if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  return error;
}

}  // namespace tidemark::kube::memory
