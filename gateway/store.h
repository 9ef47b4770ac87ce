// Where runs are kept. What a call has answered is durable.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gateway/record.h"
#include "net/loop.h"
#include "policy/route/quota.h"

namespace tidemark::gateway {

struct Added {
  Record record;         // with its id; the stored one if the key is known
  bool existed = false;  // the key is known
};

struct Page {
  std::vector<Record> records;  // by id
  std::int64_t total = 0;
};

// Which runs a page contains; empty fields contain every run.
struct RunFilter {
  std::string user;
  std::string name;
  std::optional<RunState> state{};
  bool newest_first = false;
};

// What other processes do with a store that they share.
struct StoreEvents {
  std::function<void(std::vector<Record>)> taken;  // this process drives these runs from now on
  std::function<void(std::int64_t)> cancelled;     // the cancel of a run of this process is ordered
  std::function<void()> switched;                  // no_more_kubernetes() has changed
  std::function<void()> lost;                      // this process drives no run until it takes them again
};

inline constexpr int kQuotaStatus = 429;

class Store {
 public:
  virtual ~Store() = default;
  // After live(). A store of one process has no events.
  virtual void share(StoreEvents) {}
  // Runs that other processes drive.
  virtual policy::route::QuotaUse use_elsewhere(std::string_view) const { return {}; }
  // A random name of this store: the names of pods derive from it.
  virtual const std::string& instance() const = 0;
  virtual bool no_more_kubernetes() const = 0;
  virtual net::Task<Result<void>> set_no_more_kubernetes(bool value) = 0;

  // A small text by name; "" if there is none. kUnsupported: this store keeps none.
  virtual net::Task<Result<std::string>> text(std::string) { co_return std::string(); }
  virtual net::Task<Result<void>> set_text(std::string name, std::string) {
    co_return fail(ErrorKind::kUnsupported, "this store cannot keep ", name);
  }

  // kExhausted with code 429: the quota of the record.
  virtual net::Task<Result<Added>> add(Record record) = 0;
  // Run and message. kConflict: another process drives the run now. kExhausted with code 429: the quota of the record.
  virtual net::Task<Result<void>> put(const Record& record) = 0;
  virtual net::Task<Result<void>> order_cancel(std::int64_t id) = 0;
  virtual net::Task<Result<std::optional<Record>>> find(std::int64_t id) = 0;
  virtual net::Task<Result<std::optional<Record>>> find_key(std::string key) = 0;
  virtual net::Task<Result<void>> drop_key(std::int64_t id) = 0;  // another run may have it
  virtual net::Task<Result<Page>> page(std::int64_t from, std::int64_t size, RunFilter filter) = 0;
  // All that are not final and that no other process drives.
  virtual net::Task<Result<std::vector<Record>>> live() = 0;
};

}  // namespace tidemark::gateway
