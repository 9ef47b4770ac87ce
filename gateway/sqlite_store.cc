#include "gateway/sqlite_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "gateway/batched_store.h"
#include "policy/route/names.h"

namespace tidemark::gateway {
namespace {

using base::cat;

constexpr int kApplicationId = 0x54445347;  // "TDSG"
constexpr int kSchema = 1;

constexpr const char* kTables =
    "CREATE TABLE runs(id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT, job_hash TEXT NOT NULL, created INTEGER NOT "
    "NULL, job TEXT NOT NULL, live INTEGER NOT NULL, cancel INTEGER NOT NULL, run TEXT NOT NULL);"
    "CREATE UNIQUE INDEX runs_by_key ON runs(key) WHERE key IS NOT NULL;"
    "CREATE INDEX runs_live ON runs(id) WHERE live = 1;"
    "CREATE TABLE state(name TEXT PRIMARY KEY, value TEXT NOT NULL)";
constexpr std::string_view kColumns = "id, key, job_hash, created, job, cancel, run";

class SqliteDatabase final : public Database {
 public:
  static Result<std::unique_ptr<SqliteDatabase>> open(const std::string& path, std::uint64_t seed);
  ~SqliteDatabase() override { sqlite3_close(db_); }
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  Result<void> begin() override { return execute("BEGIN IMMEDIATE"); }
  Result<void> commit() override { return execute("COMMIT"); }
  void roll_back() override {
    if (sqlite3_get_autocommit(db_) == 0) (void)execute("ROLLBACK");
  }
  Result<std::string> state(const std::string& name) override;
  Result<void> set_state(const std::string& name, const std::string& value) override;
  Result<Added> add(Record record) override;
  Result<void> put(const Record& record) override;
  Result<void> order_cancel(std::int64_t id) override;
  Result<std::vector<Record>> find(std::int64_t id) override { return select("WHERE id = ?", {id}); }
  Result<std::vector<Record>> find_key(const std::string& key) override { return select("WHERE key = ?", {}, {key}); }
  Result<void> drop_key(std::int64_t id) override;
  Result<Page> page(std::int64_t from, std::int64_t size, const RunFilter& filter) override;
  Result<std::vector<Record>> live() override { return select("WHERE live = 1 ORDER BY id", {}); }

 private:
  SqliteDatabase(std::string path, sqlite3* db) : path_(std::move(path)), db_(db) {}
  Result<void> execute(const std::string& sql);
  // The texts are bound first, then the numbers.
  Result<std::vector<Record>> select(const std::string& rest, const std::vector<std::int64_t>& numbers,
                                     const std::vector<std::string>& texts = {});
  Result<std::int64_t> count(const std::string& where, const std::vector<std::string>& texts);
  std::unexpected<Error> failed(std::string_view doing) const;
  Result<void> prepare(std::uint64_t seed);

  std::string path_;
  sqlite3* db_;
};

class Statement {
 public:
  Statement(sqlite3* db, const std::string& sql) { sqlite3_prepare_v2(db, sql.c_str(), -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::int64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }
  Statement& bind(const std::string& value) {
    sqlite3_bind_text64(statement_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    return *this;
  }
  Statement& bind_null() {
    sqlite3_bind_null(statement_, ++bound_);
    return *this;
  }
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  std::int64_t number(int column) { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return bytes == nullptr ? std::string()
                            : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

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

std::unexpected<Error> SqliteDatabase::failed(std::string_view doing) const {
  const int code = sqlite3_extended_errcode(db_);
  const ErrorKind kind = kind_of(code);
  std::string message = cat(doing, " ", path_, ": ", sqlite3_errmsg(db_));
  if (kind == ErrorKind::kUnavailable) message += "; another process uses the file: stop it, or use another directory";
  if (kind == ErrorKind::kInvalid) message += "; the file is damaged: move it away and start with a copy";
  return fail(Error{kind, std::move(message), code, 0});
}

Result<void> SqliteDatabase::execute(const std::string& sql) {
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failed("write");
  return {};
}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const std::string& path, std::uint64_t seed) {
  // Created here for its mode: jobs may contain passwords.
  if (const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600); fd >= 0) ::close(fd);
  sqlite3* db = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  auto out = std::unique_ptr<SqliteDatabase>(new SqliteDatabase(path, db));
  if (code != SQLITE_OK) return out->failed("open");
  TM_TRY_VOID(out->prepare(seed));
  return out;
}

Result<void> SqliteDatabase::prepare(std::uint64_t seed) {
  sqlite3_extended_result_codes(db_, 1);
  // Exclusive: a second gateway on the same file would submit runs twice.
  for (const char* pragma :
       {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "BEGIN IMMEDIATE"}) {
    TM_TRY_VOID(execute(pragma));
  }
  const auto number = [&](const char* sql) -> Result<std::int64_t> {
    Statement statement(db_, sql);
    if (statement.step() != SQLITE_ROW) return failed("read");
    return statement.number(0);
  };
  TM_TRY(const std::int64_t tables, number("SELECT count(*) FROM sqlite_master"));
  TM_TRY(const std::int64_t application, number("PRAGMA application_id"));
  TM_TRY(const std::int64_t version, number("PRAGMA user_version"));
  if (tables != 0 && application != kApplicationId) {
    return fail(ErrorKind::kInvalid, path_, " is a database of another program; use another directory");
  }
  if (version > kSchema) {
    return fail(ErrorKind::kUnsupported, path_, " has schema ", version, ", and this program reads schemas up to ",
                kSchema, "; use the program that wrote it");
  }
  if (tables == 0) {
    TM_TRY_VOID(execute(cat("PRAGMA application_id=", kApplicationId)));
    TM_TRY_VOID(execute(cat("PRAGMA user_version=", kSchema)));
    TM_TRY_VOID(execute(kTables));
    TM_TRY_VOID(set_state("instance", base::TextHash().add(cat("gateway ", seed)).hex()));
  }
  // Not a part of the schema: a program without it can use the file.
  TM_TRY_VOID(execute("CREATE INDEX IF NOT EXISTS runs_by_user ON runs(json_extract(job, '$.user'))"));
  return execute("COMMIT");
}

Result<std::string> SqliteDatabase::state(const std::string& name) {
  Statement statement(db_, "SELECT value FROM state WHERE name = ?1");
  const int code = statement.bind(name).step();
  if (code == SQLITE_DONE) return std::string();
  if (code != SQLITE_ROW) return failed("read");
  return statement.text(0);
}

Result<void> SqliteDatabase::set_state(const std::string& name, const std::string& value) {
  Statement statement(db_, "INSERT INTO state VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET value = ?2");
  if (statement.bind(name).bind(value).step() != SQLITE_DONE) return failed("write");
  return {};
}

Result<Added> SqliteDatabase::add(Record record) {
  if (!record.key.empty()) {
    Statement known(db_, "SELECT id FROM runs WHERE key = ?1");
    const int code = known.bind(record.key).step();
    if (code == SQLITE_ROW) {
      TM_TRY(auto found, select("WHERE id = ?1", {known.number(0)}));
      return Added{std::move(found.at(0)), true};
    }
    if (code != SQLITE_DONE) return failed("read");
  }
  Statement insert(db_,
                   "INSERT INTO runs(key, job_hash, created, job, live, cancel, run) VALUES(?1, ?2, ?3, ?4, 1, 0, ?5)");
  if (record.key.empty()) {
    insert.bind_null();
  } else {
    insert.bind(record.key);
  }
  insert.bind(record.job_hash).bind(record.created.since_epoch.count()).bind(to_json(record.job).dump());
  if (insert.bind(encode_run(record.run, record.message)).step() != SQLITE_DONE) return failed("write");
  record.id = sqlite3_last_insert_rowid(db_);
  return Added{std::move(record), false};
}

Result<void> SqliteDatabase::put(const Record& record) {
  Statement update(db_, "UPDATE runs SET live = ?1, run = ?2 WHERE id = ?3");
  update.bind(is_final(record.run.phase) ? 0 : 1).bind(encode_run(record.run, record.message)).bind(record.id);
  if (update.step() != SQLITE_DONE) return failed("write");
  return {};
}

Result<void> SqliteDatabase::order_cancel(std::int64_t id) {
  Statement update(db_, "UPDATE runs SET cancel = 1 WHERE id = ?1");
  if (update.bind(id).step() != SQLITE_DONE) return failed("write");
  return {};
}

Result<void> SqliteDatabase::drop_key(std::int64_t id) {
  Statement update(db_, "UPDATE runs SET key = NULL WHERE id = ?1");
  if (update.bind(id).step() != SQLITE_DONE) return failed("write");
  return {};
}

Result<std::vector<Record>> SqliteDatabase::select(const std::string& rest, const std::vector<std::int64_t>& numbers,
                                                   const std::vector<std::string>& texts) {
  Statement statement(db_, cat("SELECT ", kColumns, " FROM runs ", rest));
  for (const std::string& text : texts) statement.bind(text);
  for (const std::int64_t number : numbers) statement.bind(number);
  std::vector<Record> out;
  int code = SQLITE_DONE;
  while ((code = statement.step()) == SQLITE_ROW) {
    Record record;
    record.id = statement.number(0);
    record.key = statement.text(1);
    record.job_hash = statement.text(2);
    record.created = {base::Duration(statement.number(3))};
    const std::string place = cat(path_, ": run ", record.id);
    const auto job_json = Json::parse(statement.text(4));
    if (!job_json) return fail(job_json.error().within(place));
    auto job = job_of(*job_json);
    if (!job) return fail(std::move(job).error().within(place));
    auto decoded = decode_run(statement.text(6));
    if (!decoded) return fail(std::move(decoded).error().within(place));
    record.job = *std::move(job);
    record.cancel = statement.number(5) != 0;
    record.run = std::move(decoded->run);
    record.message = std::move(decoded->message);
    out.push_back(std::move(record));
  }
  if (code != SQLITE_DONE) return failed("read");
  return out;
}

Result<std::int64_t> SqliteDatabase::count(const std::string& where, const std::vector<std::string>& texts) {
  Statement statement(db_, cat("SELECT count(*) FROM runs ", where));
  for (const std::string& text : texts) statement.bind(text);
  if (statement.step() != SQLITE_ROW) return failed("read");
  return statement.number(0);
}

std::string_view condition_of(RunState state) {
  switch (state) {
    case RunState::kWaiting:
      return "json_extract(run, '$.phase') IN ('received', 'queued', 'routed', 'reserved', 'submitted', 'admitted')";
    case RunState::kRunning:
      return "json_extract(run, '$.phase') IN ('running', 'ending')";
    case RunState::kSucceeded:
      return "json_extract(run, '$.phase') = 'done' AND json_extract(run, '$.attempts[#-1].end') = 'succeeded'";
    case RunState::kFailed:
      return "json_extract(run, '$.phase') = 'done' AND json_extract(run, '$.attempts[#-1].end') NOT IN ('succeeded', "
             "'killed')";
    case RunState::kKilled:
      break;
  }
  return "(json_extract(run, '$.phase') = 'cancelled' OR json_extract(run, '$.attempts[#-1].end') = 'killed')";
}

std::string condition_of(const RunFilter& filter, std::vector<std::string>& texts) {
  std::vector<std::string> all;
  const auto equal = [&](std::string_view path, const std::string& value) {
    if (value.empty()) return;
    all.push_back(cat("json_extract(job, '", path, "') = ?"));
    texts.push_back(value);
  };
  equal("$.user", filter.user);
  equal("$.name", filter.name);
  if (filter.state) all.emplace_back(condition_of(*filter.state));
  return all.empty() ? "" : cat("WHERE ", base::join(all, " AND "));
}

Result<Page> SqliteDatabase::page(std::int64_t from, std::int64_t size, const RunFilter& filter) {
  std::vector<std::string> texts;
  const std::string where = condition_of(filter, texts);
  Page page;
  TM_TRY(page.total, count(where, texts));
  const std::string order = filter.newest_first ? " ORDER BY id DESC" : " ORDER BY id";
  TM_TRY(page.records, select(cat(where, order, " LIMIT ? OFFSET ?"), {size, from}, texts));
  return page;
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(net::EventLoop& loop, const std::string& path, std::uint64_t seed) {
  TM_TRY(std::unique_ptr<Database> database, SqliteDatabase::open(path, seed));
  TM_TRY(auto instance, database->state(std::string(kInstanceState)));
  TM_TRY(const auto no_more, database->state(std::string(kSwitchState)));
  return std::make_unique<BatchedStore>(loop, std::move(database), std::move(instance), no_more == "true");
}

}  // namespace tidemark::gateway
