#include "gateway/batched_store.h"

#include <utility>

namespace tidemark::gateway {
namespace {

constexpr std::size_t kQueueMax = 4096;  // requests that wait for the worker
constexpr std::size_t kBatchMax = 256;   // requests of one transaction
constexpr std::size_t kWorkMax = 4;

std::optional<Record> first(std::vector<Record> records) {
  if (records.empty()) return std::nullopt;
  return std::move(records[0]);
}

}  // namespace

// After the commit of its work the loop wakes `waiting`, unless that was destroyed meanwhile.
struct BatchedStore::Request {
  Work work;
  Result<void> result;
  net::OneShot<bool>* waiting = nullptr;
};

BatchedStore::BatchedStore(net::EventLoop& loop, std::unique_ptr<Database> database, std::string instance,
                           bool no_more_kubernetes)
    : loop_(loop),
      database_(std::move(database)),
      instance_(std::move(instance)),
      no_more_kubernetes_(no_more_kubernetes),
      workers_(1, kWorkMax),
      scope_(loop) {}

net::Task<Result<void>> BatchedStore::set_no_more_kubernetes(bool value) {
  TM_CO_TRY_VOID(co_await request(
      [value](Database& db) { return db.set_state(std::string(kSwitchState), value ? "true" : "false"); }));
  no_more_kubernetes_ = value;
  co_return Result<void>();
}

net::Task<Result<std::string>> BatchedStore::text(std::string name) {
  return run<std::string>([name = std::move(name)](Database& db) { return db.state(name); });
}

net::Task<Result<void>> BatchedStore::set_text(std::string name, std::string value) {
  return request(
      [name = std::move(name), value = std::move(value)](Database& db) { return db.set_state(name, value); });
}

net::Task<Result<Added>> BatchedStore::add(Record record) {
  return run<Added>([record = std::move(record)](Database& db) { return db.add(record); });
}

net::Task<Result<void>> BatchedStore::put(const Record& record) {
  return request([record](Database& db) { return db.put(record); });
}

net::Task<Result<void>> BatchedStore::order_cancel(std::int64_t id) {
  return request([id](Database& db) { return db.order_cancel(id); });
}

net::Task<Result<std::optional<Record>>> BatchedStore::find(std::int64_t id) {
  return run<std::optional<Record>>([id](Database& db) -> Result<std::optional<Record>> {
    TM_TRY(auto found, db.find(id));
    return first(std::move(found));
  });
}

net::Task<Result<std::optional<Record>>> BatchedStore::find_key(std::string key) {
  return run<std::optional<Record>>([key = std::move(key)](Database& db) -> Result<std::optional<Record>> {
    TM_TRY(auto found, db.find_key(key));
    return first(std::move(found));
  });
}

net::Task<Result<void>> BatchedStore::drop_key(std::int64_t id) {
  return request([id](Database& db) { return db.drop_key(id); });
}

net::Task<Result<Page>> BatchedStore::page(std::int64_t from, std::int64_t size, RunFilter filter) {
  return run<Page>([from, size, filter = std::move(filter)](Database& db) { return db.page(from, size, filter); });
}

net::Task<Result<std::vector<Record>>> BatchedStore::live() {
  return run<std::vector<Record>>([](Database& db) { return db.live(); });
}

net::Task<Result<void>> BatchedStore::request(Work work) {
  if (waiting_.size() >= kQueueMax) co_return fail(ErrorKind::kExhausted, "too many requests wait for the store");
  auto request = std::make_shared<Request>();
  request->work = std::move(work);
  net::OneShot<bool> finished(loop_);
  request->waiting = &finished;
  struct Detach {
    Request& request;
    ~Detach() { request.waiting = nullptr; }
  } detach{*request};
  waiting_.push_back(request);
  if (!busy_) {
    busy_ = true;
    scope_.spawn(work_off());
  }
  co_await finished;
  co_return std::move(request->result);
}

net::Task<void> BatchedStore::work_off() {
  while (!waiting_.empty()) {
    std::vector<std::shared_ptr<Request>> requests;
    while (!waiting_.empty() && requests.size() < kBatchMax) {
      requests.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    auto ran = co_await workers_.run<bool>(loop_, [database = database_, requests] {
      transact(*database, requests);
      return true;
    });
    for (auto& each : requests) {
      if (!ran) each->result = fail(ran.error());
      if (each->waiting != nullptr) each->waiting->give(true);
    }
  }
  busy_ = false;
}

// All in one transaction. If one fails, its error ends the transaction, and each request gets a transaction of its own.
// A failed commit is not repeated: a database that did not answer may have made it.
void BatchedStore::transact(Database& database, const std::vector<std::shared_ptr<Request>>& requests) {
  if (transact_together(database, requests)) return;
  for (const auto& each : requests) transact_together(database, {&each, 1});
}

// Whether each request has its result.
bool BatchedStore::transact_together(Database& database, std::span<const std::shared_ptr<Request>> requests) {
  const auto all_fail = [&](const Error& error) {
    database.roll_back();
    for (const auto& each : requests) each->result = fail(error);
    return true;
  };
  if (const auto begun = database.begin(); !begun) return all_fail(begun.error());
  for (const auto& each : requests) {
    each->result = each->work(database);
    if (each->result) continue;
    database.roll_back();
    return requests.size() == 1;
  }
  const auto committed = database.commit();
  return committed ? true : all_fail(committed.error());
}

}  // namespace tidemark::gateway
