// NodeManagers as a ResourceManager sees them: they register, and send a heartbeat every three seconds, over a few
// connections. They run nothing. They cannot obey an order to resync or to stop: a run in which a ResourceManager sends
// one fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "hadoop/rpc_client.h"
#include "net/loop.h"

namespace tidemark::bench {

inline constexpr base::Duration kBeatEvery = std::chrono::seconds(3);

class NodeManagers {
 public:
  NodeManagers(net::EventLoop& loop, hadoop::Address tracker, std::size_t count, base::Random random,
               std::function<void(const std::string& why)> on_failure);

  // All of them; from then on they send heartbeats, evenly spread over kBeatEvery.
  net::Task<Result<void>> register_all();

  std::uint64_t beats_answered() const { return beats_answered_; }
  std::uint64_t beats_late() const { return beats_late_; }  // whose answer came when the next one was due

 private:
  struct Nm {
    std::int32_t response_id = 0;
    // MasterKeyProto as it came: a ResourceManager asks which one is known whenever it has a newer one.
    std::string container_key;
    std::string nm_key;
  };

  hadoop::RpcClient& client_of(std::size_t nm) { return *clients_[nm % clients_.size()]; }
  std::string registration(std::size_t nm) const;
  std::string beat(std::size_t nm) const;
  net::Task<Result<void>> register_one(std::size_t nm);
  net::Task<void> live(std::size_t nm, base::MonotonicTime first);

  net::EventLoop& loop_;
  std::function<void(const std::string&)> on_failure_;
  std::vector<Nm> nms_;
  std::vector<std::unique_ptr<hadoop::RpcClient>> clients_;
  std::uint64_t beats_answered_ = 0;
  std::uint64_t beats_late_ = 0;
  net::Scope scope_;
};

}  // namespace tidemark::bench
