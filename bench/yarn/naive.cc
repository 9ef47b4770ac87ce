#include "naive.h"

#include "amounts.h"
#include "hadoop/yarn_records.h"

namespace tidemark::bench {
namespace {

constexpr base::Duration kCallLimit = std::chrono::seconds(30);
constexpr hadoop::Method kUpdate{"org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB",
                                 "updateNodeResource"};
constexpr hadoop::Method kNodes{"org.apache.hadoop.yarn.api.ApplicationClientProtocolPB", "getClusterNodes"};

}  // namespace

net::Task<Result<std::string>> Naive::call(const hadoop::Address& server, hadoop::Method method, std::string request) {
  hadoop::RpcConfig config;
  config.server = server;
  config.protocol = method.protocol;
  config.identity.real_user = "root";
  hadoop::RpcClient once(loop_, nullptr, std::move(config), random_.fork());
  auto answer = co_await once.call(method, std::move(request), kCallLimit);
  calls_ += once.calls_made();
  connections_ += once.connections_made();
  co_return answer;
}

net::Task<Result<void>> Naive::tell_one(std::size_t node, std::int64_t step) {
  const hadoop::NodeUpdate update{
      {nm_host(node), kNmPort}, {yarn_memory_mib(node, step), yarn_vcores(node, step), {}}, std::nullopt};
  TM_CO_TRY_VOID(co_await call(admin_, kUpdate, hadoop::encode_update_node_resource({update})));
  co_return Result<void>();
}

net::Task<Result<void>> Naive::tell(std::size_t nodes, std::int64_t step) {
  for (std::size_t node = 0; node < nodes; ++node) TM_CO_TRY_VOID(co_await tell_one(node, step));
  co_return Result<void>();
}

net::Task<Error> Naive::tell_at_reports(std::size_t nodes, std::int64_t step) {
  for (std::size_t node = 0;; node = (node + 1) % nodes) {
    co_await loop_.sleep(kKubeletReports / static_cast<std::int64_t>(nodes));
    if (auto told = co_await tell_one(node, step); !told) co_return std::move(told).error();
  }
}

net::Task<Error> Naive::poll() {
  base::MonotonicTime due = loop_.clock().monotonic();
  while (true) {
    const auto response =
        co_await call(client_, kNodes, hadoop::encode_get_cluster_nodes({hadoop::NodeState::kRunning}));
    if (!response) co_return response.error();
    // The answer is decoded, as a real client must.
    if (const auto reports = hadoop::decode_get_cluster_nodes(*response); !reports) co_return reports.error();
    due = due + kNaivePoll;
    const base::Duration wait = due - loop_.clock().monotonic();
    if (wait > base::Duration(0)) co_await loop_.sleep(wait);
  }
}

}  // namespace tidemark::bench
