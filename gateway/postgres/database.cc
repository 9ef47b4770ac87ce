#include "gateway/postgres/database.h"

#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "policy/route/names.h"

namespace tidemark::gateway::postgres {
namespace {

using base::cat;
using policy::route::Quota;
using policy::route::QuotaLimit;
using policy::route::QuotaUse;

constexpr std::int64_t kSchema = 1;
constexpr std::int64_t kTakenMax = 500;  // runs that one renewal takes over
constexpr std::string_view kSchemaState = "schema";

// Two replicas that start together make the tables once.
constexpr const char* kLockTables = "SELECT pg_advisory_xact_lock(1413765959)";
// One replica at a time decides by a quota, until the end of its transaction.
constexpr const char* kLockQuotas = "SELECT pg_advisory_xact_lock(1413765960)";
constexpr const char* kTables[] = {
    "CREATE TABLE IF NOT EXISTS state(name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS replicas(id TEXT PRIMARY KEY, expires TIMESTAMPTZ NOT NULL)",
    "CREATE TABLE IF NOT EXISTS runs(id BIGSERIAL PRIMARY KEY, key TEXT UNIQUE, job_hash TEXT NOT NULL, created BIGINT "
    "NOT NULL, job TEXT NOT NULL, run TEXT NOT NULL, live BOOLEAN NOT NULL, cancel BOOLEAN NOT NULL, state SMALLINT "
    "NOT NULL, username TEXT NOT NULL, name TEXT NOT NULL, business TEXT NOT NULL, cores BIGINT NOT NULL, has_side "
    "BOOLEAN NOT NULL, owner TEXT NOT NULL, epoch BIGINT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS runs_live ON runs(owner) WHERE live",
    "CREATE INDEX IF NOT EXISTS runs_by_user ON runs(username, id)",
};
constexpr std::string_view kColumns =
    "runs.id, runs.key, runs.job_hash, runs.created, runs.job, runs.cancel, runs.run, runs.epoch";

Value number(std::int64_t value) {
  return cat(value);
}
Value boolean(bool value) {
  return value ? "t" : "f";
}
std::int64_t number_in(const std::string& text) {
  return base::parse_int(text).value_or(0);
}

Result<Record> record_of(const std::vector<std::string>& row) {
  Record record;
  record.id = number_in(row[0]);
  record.key = row[1];
  record.job_hash = row[2];
  record.created = {base::Duration(number_in(row[3]))};
  const std::string place = cat("PostgreSQL: run ", record.id);
  const auto json = Json::parse(row[4]);
  if (!json) return fail(json.error().within(place));
  auto job = job_of(*json);
  if (!job) return fail(std::move(job).error().within(place));
  auto decoded = decode_run(row[6]);
  if (!decoded) return fail(std::move(decoded).error().within(place));
  record.job = *std::move(job);
  record.cancel = row[5] == "t";
  record.run = std::move(decoded->run);
  record.message = std::move(decoded->message);
  record.epoch = number_in(row[7]);
  return record;
}

Result<std::vector<Record>> records_of(const Rows& rows) {
  std::vector<Record> out;
  for (const auto& row : rows.rows) {
    TM_TRY(out.emplace_back(), record_of(row));
  }
  return out;
}

Value state_of_run(const Record& record) {
  return number(static_cast<std::int64_t>(state_of(record.run)));
}

}  // namespace

Result<std::unique_ptr<PostgresDatabase>> PostgresDatabase::open(const std::string& where, std::string replica,
                                                                 base::Duration lease, std::uint64_t seed) {
  TM_TRY(auto connection, Connection::open(where));
  auto made = std::unique_ptr<PostgresDatabase>(new PostgresDatabase(std::move(connection), std::move(replica), lease));
  TM_TRY_VOID(made->begin());
  TM_TRY_VOID(made->prepare(seed));
  TM_TRY_VOID(made->commit());
  return made;
}

Result<void> PostgresDatabase::prepare(std::uint64_t seed) {
  TM_TRY_VOID(connection_->run(kLockTables));
  for (const char* sql : kTables) TM_TRY_VOID(connection_->run(sql));
  TM_TRY(const std::string schema, state(std::string(kSchemaState)));
  if (!schema.empty() && number_in(schema) > kSchema) {
    return fail(ErrorKind::kUnsupported, "PostgreSQL: the tables have schema ", schema,
                ", and this program reads schemas up to ", kSchema, "; use the program that wrote them");
  }
  if (!schema.empty()) return {};
  TM_TRY_VOID(set_state(std::string(kSchemaState), cat(kSchema)));
  return set_state(std::string(kInstanceState), base::TextHash().add(cat("gateway ", seed)).hex());
}

Result<void> PostgresDatabase::begin() {
  TM_TRY_VOID(connection_->connect_again());
  TM_TRY_VOID(connection_->run("BEGIN"));
  return {};
}

Result<void> PostgresDatabase::commit() {
  TM_TRY_VOID(connection_->run("COMMIT"));
  return {};
}

void PostgresDatabase::roll_back() {
  if (!connection_->in_transaction()) return;
  [[maybe_unused]] const auto done = connection_->run("ROLLBACK");  // it fails only if the connection is lost
}

Result<std::string> PostgresDatabase::state(const std::string& name) {
  TM_TRY(const Rows found, connection_->run("SELECT value FROM state WHERE name = $1", {name}));
  return found.rows.empty() ? std::string() : found.rows[0][0];
}

Result<void> PostgresDatabase::set_state(const std::string& name, const std::string& value) {
  TM_TRY_VOID(
      connection_->run("INSERT INTO state VALUES($1, $2) ON CONFLICT(name) DO UPDATE SET value = $2", {name, value}));
  return {};
}

Result<Added> PostgresDatabase::add(Record record) {
  const Value key = record.key.empty() ? Value() : Value(record.key);
  record.epoch = 1;
  const bool limited = record.quota != Quota{};
  if (limited) TM_TRY_VOID(connection_->run(kLockQuotas));
  TM_TRY(
      const Rows added,
      connection_->run("INSERT INTO runs(key, job_hash, created, job, run, live, cancel, state, username, name, "
                       "business, cores, has_side, owner, epoch) VALUES($1, $2, $3, $4, $5, true, false, $6, $7, "
                       "$8, $9, $10, $11, $12, $13) ON CONFLICT(key) DO NOTHING RETURNING id",
                       {key, record.job_hash, number(record.created.since_epoch.count()), to_json(record.job).dump(),
                        encode_run(record.run, record.message), state_of_run(record), record.job.user, record.job.name,
                        std::string(record.job.conf_or(kBusinessConf, "")), number(cores_of(record.job).value_or(0)),
                        boolean(has_side(record.run.phase)), replica_, number(record.epoch)}));
  if (!added.rows.empty()) {
    record.id = number_in(added.rows[0][0]);
    if (limited) {
      TM_TRY(const QuotaUse use, use_of_others(record));
      if (limit_at_door(record.quota, use, cores_of(record.job).value_or(0)) != QuotaLimit::kNone) {
        return fail(Error{
            ErrorKind::kExhausted,
            cat("exceeded quota: ", use.queued, " runs of business ", record.job.conf_or(kBusinessConf, ""), " wait"),
            kQuotaStatus, 0});
      }
    }
    return Added{std::move(record), false};
  }
  TM_TRY(auto found, find_key(record.key));
  if (found.empty()) return fail(ErrorKind::kUnavailable, "PostgreSQL: the run with this key was just changed");
  return Added{std::move(found[0]), true};
}

// What the other runs of its business use, in all replicas.
Result<QuotaUse> PostgresDatabase::use_of_others(const Record& record) {
  TM_TRY(const Rows used,
         connection_->run("SELECT count(*) FILTER (WHERE has_side), count(*) FILTER (WHERE NOT has_side), "
                          "coalesce(sum(cores) FILTER (WHERE has_side), 0) FROM runs WHERE live AND business = $1 AND "
                          "id <> $2",
                          {std::string(record.job.conf_or(kBusinessConf, "")), number(record.id)}));
  const auto& row = used.rows.at(0);
  return QuotaUse{.running = number_in(row[0]), .queued = number_in(row[1]), .cores = number_in(row[2])};
}

Result<void> PostgresDatabase::put(const Record& record) {
  if (record.quota != Quota{}) {
    TM_TRY_VOID(connection_->run(kLockQuotas));
    TM_TRY(const QuotaUse use, use_of_others(record));
    const QuotaLimit limit = limit_at_start(record.quota, use, cores_of(record.job).value_or(0));
    if (const auto reason = policy::route::reason_of(limit)) {
      return fail(Error{ErrorKind::kExhausted, policy::route::text_of(*reason), kQuotaStatus, 0});
    }
  }
  TM_TRY(const Rows done,
         connection_->run(
             "UPDATE runs SET live = $1, run = $2, state = $3, has_side = $4 WHERE id = $5 AND epoch = $6",
             {boolean(!is_final(record.run.phase)), encode_run(record.run, record.message), state_of_run(record),
              boolean(has_side(record.run.phase)), number(record.id), number(record.epoch)}));
  if (done.changed == 1) return {};
  return fail(ErrorKind::kConflict, "another gateway drives run ", record.id);
}

Result<void> PostgresDatabase::order_cancel(std::int64_t id) {
  TM_TRY_VOID(connection_->run("UPDATE runs SET cancel = true WHERE id = $1", {number(id)}));
  return {};
}

Result<void> PostgresDatabase::drop_key(std::int64_t id) {
  TM_TRY_VOID(connection_->run("UPDATE runs SET key = NULL WHERE id = $1", {number(id)}));
  return {};
}

Result<std::vector<Record>> PostgresDatabase::select(const std::string& rest, const std::vector<Value>& values) {
  TM_TRY(const Rows found, connection_->run(cat("SELECT ", kColumns, " FROM runs ", rest), values));
  return records_of(found);
}

Result<std::vector<Record>> PostgresDatabase::find(std::int64_t id) {
  return select("WHERE id = $1", {number(id)});
}

Result<std::vector<Record>> PostgresDatabase::find_key(const std::string& key) {
  return select("WHERE key = $1", {key});
}

Result<Page> PostgresDatabase::page(std::int64_t from, std::int64_t size, const RunFilter& filter) {
  std::vector<std::string> all;
  std::vector<Value> values;
  const auto equal = [&](std::string_view column, std::string value) {
    values.emplace_back(std::move(value));
    all.push_back(cat(column, " = $", values.size()));
  };
  if (!filter.user.empty()) equal("username", filter.user);
  if (!filter.name.empty()) equal("name", filter.name);
  if (filter.state) equal("state", cat(static_cast<int>(*filter.state)));
  const std::string where = all.empty() ? "" : cat("WHERE ", base::join(all, " AND "));
  TM_TRY(const Rows count, connection_->run(cat("SELECT count(*) FROM runs ", where), values));
  Page page;
  page.total = number_in(count.rows.at(0).at(0));
  values.push_back(number(size));
  values.push_back(number(from));
  const std::string order = filter.newest_first ? " ORDER BY id DESC" : " ORDER BY id";
  TM_TRY(page.records, select(cat(where, order, " LIMIT $", values.size() - 1, " OFFSET $", values.size()), values));
  return page;
}

Result<std::vector<Record>> PostgresDatabase::take_over() {
  TM_TRY(
      const Rows taken,
      connection_->run(cat("WITH due AS (SELECT id FROM runs WHERE live AND owner <> $1 AND NOT EXISTS (SELECT 1 FROM "
                           "replicas WHERE replicas.id = runs.owner AND expires > now()) ORDER BY id LIMIT ",
                           kTakenMax,
                           " FOR UPDATE SKIP LOCKED) UPDATE runs SET owner = $1, epoch = epoch + 1 FROM due WHERE "
                           "runs.id = due.id RETURNING ",
                           kColumns),
                       {replica_}));
  return records_of(taken);
}

Result<Beat> PostgresDatabase::beat(bool all) {
  const auto lease_ms = std::chrono::duration_cast<std::chrono::milliseconds>(lease_).count();
  TM_TRY_VOID(
      connection_->run("INSERT INTO replicas VALUES($1, now() + $2 * interval '1 millisecond') ON CONFLICT(id) "
                       "DO UPDATE SET expires = EXCLUDED.expires",
                       {replica_, number(lease_ms)}));
  TM_TRY_VOID(connection_->run("DELETE FROM replicas WHERE expires < now() - interval '1 hour'"));
  Beat out;
  out.connects = connection_->connects();
  TM_TRY(out.taken, take_over());
  if (all) {
    TM_TRY(out.taken, select("WHERE live AND owner = $1 ORDER BY id", {replica_}));
  }
  TM_TRY(const Rows cancelled,
         connection_->run("SELECT id FROM runs WHERE live AND cancel AND owner = $1", {replica_}));
  for (const auto& row : cancelled.rows) out.cancelled.push_back(number_in(row[0]));
  TM_TRY(const std::string no_more, state(std::string(kSwitchState)));
  out.no_more_kubernetes = no_more == "true";
  TM_TRY(const Rows used,
         connection_->run("SELECT business, count(*) FILTER (WHERE has_side), count(*) FILTER (WHERE NOT has_side), "
                          "coalesce(sum(cores) FILTER (WHERE has_side), 0) FROM runs WHERE live AND owner <> $1 AND "
                          "business <> '' GROUP BY business",
                          {replica_}));
  for (const auto& row : used.rows) {
    out.elsewhere[row[0]] = {.running = number_in(row[1]), .queued = number_in(row[2]), .cores = number_in(row[3])};
  }
  return out;
}

Result<std::vector<Record>> PostgresDatabase::live() {
  TM_TRY(Beat beaten, beat(true));
  return std::move(beaten.taken);
}

}  // namespace tidemark::gateway::postgres
