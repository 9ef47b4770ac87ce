// The way that needs no operator worth the name, as Koordinator's goes it: a connection for each call, one node in each
// update, one after the other, an update at each event of a node whatever it says, and all nodes asked for every
// second.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "base/result.h"
#include "hadoop/rpc_client.h"
#include "net/loop.h"

namespace tidemark::bench {

inline constexpr base::Duration kNaivePoll = std::chrono::seconds(1);
inline constexpr base::Duration kKubeletReports = std::chrono::minutes(5);  // where nothing changes

class Naive {
 public:
  Naive(net::EventLoop& loop, hadoop::Address client, hadoop::Address admin, base::Random random)
      : loop_(loop), client_(std::move(client)), admin_(std::move(admin)), random_(random) {}

  // The totals of a step, node by node.
  net::Task<Result<void>> tell(std::size_t nodes, std::int64_t step);
  // Both for ever, or until a call fails. The same totals once more, each when its kubelet has reported.
  net::Task<Error> tell_at_reports(std::size_t nodes, std::int64_t step);
  net::Task<Error> poll();

  std::uint64_t calls() const { return calls_; }
  std::uint64_t connections() const { return connections_; }

 private:
  net::Task<Result<void>> tell_one(std::size_t node, std::int64_t step);
  net::Task<Result<std::string>> call(const hadoop::Address& server, hadoop::Method method, std::string request);

  net::EventLoop& loop_;
  const hadoop::Address client_;
  const hadoop::Address admin_;
  base::Random random_;
  std::uint64_t calls_ = 0;
  std::uint64_t connections_ = 0;
};

}  // namespace tidemark::bench
