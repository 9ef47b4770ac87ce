#include "gateway/postgres/store.h"

#include <map>
#include <utility>

#include "gateway/batched_store.h"
#include "gateway/postgres/database.h"

namespace tidemark::gateway::postgres {
namespace {

constexpr int kMarginParts = 3;  // a third of the lease: for effects that have begun

class PostgresStore final : public BatchedStore {
 public:
  PostgresStore(net::EventLoop& loop, base::Log log, std::unique_ptr<Database> database, PostgresOptions options,
                std::string instance, bool no_more_kubernetes)
      : BatchedStore(loop, std::move(database), std::move(instance), no_more_kubernetes),
        loop_(loop),
        log_(std::move(log)),
        options_(std::move(options)),
        scope_(loop) {}

  // The lease begins here.
  net::Task<Result<std::vector<Record>>> live() override {
    const base::MonotonicTime asked = loop_.clock().monotonic();
    auto records = co_await BatchedStore::live();
    if (records) hold_from(asked);
    co_return records;
  }

  void share(StoreEvents events) override {
    events_ = std::move(events);
    scope_.spawn(beat());
    scope_.spawn(watch_lease());
  }

  policy::route::QuotaUse use_elsewhere(std::string_view business) const override {
    const auto at = elsewhere_.find(business);
    return at == elsewhere_.end() ? policy::route::QuotaUse{} : at->second;
  }

 private:
  void hold_from(base::MonotonicTime asked) {
    held_ = true;
    held_until_ = asked + (options_.lease - options_.lease / kMarginParts);
  }

  void let_go(std::string_view why) {
    if (!held_) return;
    held_ = false;
    log_.warn("lease lost; driving no runs until it is renewed", {{"why", why}});
    events_.lost();
  }

  net::Task<void> watch_lease() {
    while (true) {
      co_await loop_.sleep(options_.beat);
      if (loop_.clock().monotonic() > held_until_) let_go("PostgreSQL did not answer in time");
    }
  }

  net::Task<void> beat() {
    while (true) {
      co_await loop_.sleep(options_.beat);
      const base::MonotonicTime asked = loop_.clock().monotonic();
      const bool all = !held_;
      auto beaten = co_await run<Beat>([all](Database& db) { return static_cast<PostgresDatabase&>(db).beat(all); });
      if (!beaten) {
        log_.warn("cannot renew lease; retrying", {{"error", beaten.error()}});
        continue;
      }
      // Writes at the end of the old connection may have been made or not: the runs are read again.
      if (std::exchange(connects_, beaten->connects) != beaten->connects) let_go("the connection was lost");
      if (!held_ && !all) continue;
      hold_from(asked);
      take(*std::move(beaten));
    }
  }

  void take(Beat beaten) {
    elsewhere_ = std::move(beaten.elsewhere);
    if (!beaten.taken.empty()) {
      log_.info("taking over runs", {{"runs", beaten.taken.size()}});
      events_.taken(std::move(beaten.taken));
    }
    for (const std::int64_t id : beaten.cancelled) events_.cancelled(id);
    if (beaten.no_more_kubernetes == no_more_kubernetes()) return;
    set_switch(beaten.no_more_kubernetes);
    events_.switched();
  }

  net::EventLoop& loop_;
  base::Log log_;
  const PostgresOptions options_;
  StoreEvents events_;
  std::map<std::string, policy::route::QuotaUse, std::less<>> elsewhere_;
  bool held_ = false;
  base::MonotonicTime held_until_;
  std::int64_t connects_ = 1;
  net::Scope scope_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_store(net::EventLoop& loop, base::Log log, const PostgresOptions& options,
                                          std::uint64_t seed) {
  TM_TRY(std::unique_ptr<Database> database,
         PostgresDatabase::open(options.where, options.replica, options.lease, seed));
  TM_TRY(auto instance, database->state(std::string(kInstanceState)));
  TM_TRY(const auto no_more, database->state(std::string(kSwitchState)));
  return std::make_unique<PostgresStore>(loop, std::move(log), std::move(database), options, std::move(instance),
                                         no_more == "true");
}

}  // namespace tidemark::gateway::postgres
