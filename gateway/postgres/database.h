// The statements of the store, and the leases of runs.
//
//   runs.owner     the replica that drives the run
//   runs.epoch     grows with each take-over; a write names the epoch that its writer knows
//   replicas       each replica, and when its lease ends by the clock of the server
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/batched_store.h"
#include "gateway/postgres/connection.h"
#include "policy/route/quota.h"

namespace tidemark::gateway::postgres {

// What a replica learns by a renewal of its lease.
struct Beat {
  std::vector<Record> taken;            // runs of replicas whose lease has ended; they are ours now
  std::vector<std::int64_t> cancelled;  // our runs whose cancel is ordered
  bool no_more_kubernetes = false;
  std::map<std::string, policy::route::QuotaUse, std::less<>> elsewhere;  // runs of other replicas, by business
  std::int64_t connects = 0;
};

class PostgresDatabase final : public Database {
 public:
  // Makes the tables if there are none. Errors: kUnsupported for a newer schema.
  static Result<std::unique_ptr<PostgresDatabase>> open(const std::string& where, std::string replica,
                                                        base::Duration lease, std::uint64_t seed);

  Result<void> begin() override;
  Result<void> commit() override;
  void roll_back() override;
  Result<std::string> state(const std::string& name) override;
  Result<void> set_state(const std::string& name, const std::string& value) override;
  Result<Added> add(Record record) override;
  // kConflict: another replica drives the run.
  Result<void> put(const Record& record) override;
  Result<void> order_cancel(std::int64_t id) override;
  Result<std::vector<Record>> find(std::int64_t id) override;
  Result<std::vector<Record>> find_key(const std::string& key) override;
  Result<void> drop_key(std::int64_t id) override;
  Result<Page> page(std::int64_t from, std::int64_t size, const RunFilter& filter) override;
  // Renews the lease, takes over, and returns the runs of this replica.
  Result<std::vector<Record>> live() override;

  // The same; `all`: `taken` has all runs of this replica.
  Result<Beat> beat(bool all);

 private:
  PostgresDatabase(std::unique_ptr<Connection> connection, std::string replica, base::Duration lease)
      : connection_(std::move(connection)), replica_(std::move(replica)), lease_(lease) {}
  Result<void> prepare(std::uint64_t seed);
  Result<std::vector<Record>> select(const std::string& rest, const std::vector<Value>& values);
  Result<std::vector<Record>> take_over();
  Result<policy::route::QuotaUse> use_of_others(const Record& record);

  std::unique_ptr<Connection> connection_;
  const std::string replica_;
  const base::Duration lease_;
};

}  // namespace tidemark::gateway::postgres
