// A store over a database whose calls block. A worker thread makes them; what waits while it is busy goes into one
// transaction.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gateway/store.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::gateway {

// Names in the table of single values.
inline constexpr std::string_view kInstanceState = "instance";
inline constexpr std::string_view kSwitchState = "no-more-kubernetes";

// One connection. It belongs to one thread at a time.
class Database {
 public:
  virtual ~Database() = default;
  virtual Result<void> begin() = 0;
  virtual Result<void> commit() = 0;
  virtual void roll_back() = 0;                                    // does nothing outside a transaction
  virtual Result<std::string> state(const std::string& name) = 0;  // "" without a value
  virtual Result<void> set_state(const std::string& name, const std::string& value) = 0;
  virtual Result<Added> add(Record record) = 0;
  virtual Result<void> put(const Record& record) = 0;
  virtual Result<void> order_cancel(std::int64_t id) = 0;
  virtual Result<std::vector<Record>> find(std::int64_t id) = 0;
  virtual Result<std::vector<Record>> find_key(const std::string& key) = 0;
  virtual Result<void> drop_key(std::int64_t id) = 0;
  virtual Result<Page> page(std::int64_t from, std::int64_t size, const RunFilter& filter) = 0;
  virtual Result<std::vector<Record>> live() = 0;
};

class BatchedStore : public Store {
 public:
  BatchedStore(net::EventLoop& loop, std::unique_ptr<Database> database, std::string instance, bool no_more_kubernetes);

  const std::string& instance() const override { return instance_; }
  bool no_more_kubernetes() const override { return no_more_kubernetes_; }
  net::Task<Result<void>> set_no_more_kubernetes(bool value) override;
  net::Task<Result<std::string>> text(std::string name) override;
  net::Task<Result<void>> set_text(std::string name, std::string value) override;
  net::Task<Result<Added>> add(Record record) override;
  net::Task<Result<void>> put(const Record& record) override;
  net::Task<Result<void>> order_cancel(std::int64_t id) override;
  net::Task<Result<std::optional<Record>>> find(std::int64_t id) override;
  net::Task<Result<std::optional<Record>>> find_key(std::string key) override;
  net::Task<Result<void>> drop_key(std::int64_t id) override;
  net::Task<Result<Page>> page(std::int64_t from, std::int64_t size, RunFilter filter) override;
  net::Task<Result<std::vector<Record>>> live() override;

 protected:
  // `work` runs on the worker inside a transaction, and again if that fails for another request.
  template <class T>
  net::Task<Result<T>> run(std::function<Result<T>(Database&)> work) {
    auto value = std::make_shared<std::optional<T>>();
    TM_CO_TRY_VOID(co_await request([work = std::move(work), value](Database& database) -> Result<void> {
      TM_TRY(*value, work(database));
      return {};
    }));
    co_return std::move(**value);
  }
  void set_switch(bool no_more_kubernetes) { no_more_kubernetes_ = no_more_kubernetes; }

 private:
  struct Request;
  using Work = std::function<Result<void>(Database&)>;
  net::Task<Result<void>> request(Work work);
  net::Task<void> work_off();
  static void transact(Database& database, const std::vector<std::shared_ptr<Request>>& requests);
  static bool transact_together(Database& database, std::span<const std::shared_ptr<Request>> requests);

  net::EventLoop& loop_;
  std::shared_ptr<Database> database_;
  const std::string instance_;
  bool no_more_kubernetes_;
  std::deque<std::shared_ptr<Request>> waiting_;
  bool busy_ = false;
  net::WorkerPool workers_;
  net::Scope scope_;
};

}  // namespace tidemark::gateway
