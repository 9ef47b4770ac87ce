#include "hadoop/resource_manager.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace tidemark::hadoop {
namespace {

constexpr std::string_view kAdminProtocol = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB";
constexpr std::string_view kClientProtocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB";
constexpr std::string_view kHaProtocol = "org.apache.hadoop.ha.HAServiceProtocol";

constexpr Method kUpdateNodeResource{kAdminProtocol, "updateNodeResource"};
constexpr Method kGetClusterNodes{kClientProtocol, "getClusterNodes"};
constexpr Method kGetQueueInfo{kClientProtocol, "getQueueInfo"};
constexpr Method kGetApplicationReport{kClientProtocol, "getApplicationReport"};
constexpr Method kGetNewApplication{kClientProtocol, "getNewApplication"};
constexpr Method kSubmitApplication{kClientProtocol, "submitApplication"};
constexpr Method kGetApplications{kClientProtocol, "getApplications"};
constexpr Method kForceKillApplication{kClientProtocol, "forceKillApplication"};
constexpr Method kGetApplicationAttemptReport{kClientProtocol, "getApplicationAttemptReport"};
constexpr Method kGetContainerReport{kClientProtocol, "getContainerReport"};
constexpr Method kGetServiceStatus{kHaProtocol, "getServiceStatus"};

// Timeout for each server when all are asked which one is active: the answer is cheap, and a frozen one must not delay
// the rest.
constexpr base::Duration kStatusLimit = std::chrono::seconds(3);
// Retry interval for servers that were away for long. A refused connection is cheap.
constexpr base::Duration kReconnectMax = std::chrono::seconds(3);

// Another one may be active now.
bool says_to_ask_another(const Error& error) {
  return error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kDeadline;
}

RpcConfig config_of(const Address& server, std::string_view protocol, const RmCluster& cluster,
                    const std::shared_ptr<Gss>& gss) {
  RpcConfig config;
  config.server = server;
  config.protocol = protocol;
  config.identity = cluster.identity;
  config.security = cluster.security;
  config.gss = gss;
  config.reconnect.max = kReconnectMax;
  return config;
}

}  // namespace

struct ResourceManager::Member {
  RpcClient client;
  RpcClient admin;

  auto call(Method method, const std::string& request, base::Duration limit) {
    return (method.protocol == kClientProtocol ? client : admin).call(method, request, limit);
  }
};

ResourceManager::ResourceManager(net::EventLoop& loop, net::WorkerPool* workers, RmCluster cluster, base::Random random)
    : loop_(loop), cluster_(std::move(cluster)) {
  TM_CHECK(!cluster_.members.empty(), "a cluster without a ResourceManager");
  std::shared_ptr<Gss> gss;
  if (cluster_.security) {
    TM_CHECK(cluster_.make_gss, "a cluster with Kerberos but without a client for it");
    gss = cluster_.make_gss(loop);
  }
  for (const RmAddresses& each : cluster_.members) {
    members_.push_back(std::unique_ptr<Member>(new Member{
        .client = {loop, workers, config_of(each.client, kClientProtocol, cluster_, gss), random.fork()},
        .admin = {loop, workers, config_of(each.admin, kAdminProtocol, cluster_, gss), random.fork()},
    }));
  }
}

ResourceManager::~ResourceManager() = default;

net::Task<Result<NodeReports>> ResourceManager::nodes(std::vector<NodeState> states, base::Duration limit) {
  TM_CO_TRY(const std::string response, co_await ask_active(kGetClusterNodes, encode_get_cluster_nodes(states), limit));
  co_return decode_get_cluster_nodes(response);
}

net::Task<Result<QueueReport>> ResourceManager::root_queue(base::Duration limit) {
  TM_CO_TRY(const std::string response, co_await ask_active(kGetQueueInfo, encode_get_queue_info(kRootQueue), limit));
  co_return decode_get_queue_info(response);
}

net::Task<Result<ApplicationReport>> ResourceManager::application(ApplicationId id, base::Duration limit) {
  TM_CO_TRY(const std::string response,
            co_await ask_active(kGetApplicationReport, encode_get_application_report(id), limit));
  co_return decode_get_application_report(response);
}

net::Task<Result<ContainerReport>> ResourceManager::container(ContainerId id, base::Duration limit) {
  TM_CO_TRY(const std::string response,
            co_await ask_active(kGetContainerReport, encode_get_container_report(id), limit));
  co_return decode_get_container_report(response);
}

net::Task<Result<ApplicationId>> ResourceManager::reserve_application(base::Duration limit) {
  TM_CO_TRY(const std::string response, co_await ask_active(kGetNewApplication, "", limit));
  co_return decode_get_new_application(response);
}

net::Task<Result<void>> ResourceManager::submit(ApplicationSubmission submission, base::Duration limit) {
  TM_CO_TRY(std::string request, encode_submit_application(submission));
  TM_CO_TRY_VOID(co_await ask_active(kSubmitApplication, std::move(request), limit));
  co_return Result<void>();
}

net::Task<Result<ApplicationState>> ResourceManager::application_state(ApplicationId id, base::Duration limit) {
  std::string attempt;
  TM_CO_TRY(const std::string response,
            co_await ask_active(kGetApplicationReport, encode_get_application_report(id), limit));
  TM_CO_TRY(ApplicationState out, decode_application_state(response, attempt));
  if (attempt.empty()) co_return out;
  // Without an answer the state is worth more than the place of a log.
  const auto master = co_await ask_active(kGetApplicationAttemptReport, encode_get_report_of(attempt), limit);
  const auto container = master ? decode_master_container(*master) : Result<std::string>("");
  if (!container || container->empty()) co_return out;
  const auto report = co_await ask_active(kGetContainerReport, encode_get_report_of(*container), limit);
  const auto log = report ? decode_container_log(*report) : Result<std::string>("");
  if (log) out.master_log = *log;
  co_return out;
}

net::Task<Result<std::vector<ApplicationState>>> ResourceManager::running_applications(std::string tag,
                                                                                       base::Duration limit) {
  TM_CO_TRY(const std::string response,
            co_await ask_active(kGetApplications, encode_get_running_applications(tag), limit));
  co_return decode_get_applications(response);
}

net::Task<Result<void>> ResourceManager::kill(ApplicationId id, base::Duration limit) {
  TM_CO_TRY_VOID(co_await ask_active(kForceKillApplication, encode_kill_application(id), limit));
  co_return Result<void>();
}

net::Task<Result<void>> ResourceManager::update(std::vector<NodeUpdate> updates, base::Duration limit) {
  if (updates.empty()) co_return Result<void>();
  TM_CO_TRY_VOID(co_await ask_active(kUpdateNodeResource, encode_update_node_resource(updates), limit));
  co_return Result<void>();
}

// At most two attempts: the supposed active one, and another. A frozen one does not answer: after half of the time the
// active one is searched while the call continues, so a slow one keeps all of its time. A lost or abandoned call may
// have been executed; both of our calls may be repeated safely.
net::Task<Result<std::string>> ResourceManager::ask_active(Method method, std::string request, base::Duration limit) {
  const base::MonotonicTime deadline = loop_.clock().monotonic() + limit;
  const auto left = [&] { return deadline - loop_.clock().monotonic(); };
  if (!has_peers()) {
    active_ = 0;
    co_return co_await members_.front()->call(method, request, limit);
  }
  const bool known = active_.has_value();
  if (!known) {
    TM_CO_TRY(active_, co_await find_active(left()));
  }
  const std::size_t first = *active_;
  auto tried = co_await ask_while_active(first, method, request, left());
  if (tried.answer) {
    if (*tried.answer || !says_to_ask_another(tried.answer->error())) co_return *std::move(tried.answer);
    if (active_ == first) active_.reset();  // unless another call has found the next one meanwhile
    if (!known || left() <= base::Duration(0)) co_return *std::move(tried.answer);
    TM_CO_TRY(tried.another, co_await find_active(left()));
  }
  active_ = tried.another;
  co_return co_await members_[tried.another]->call(method, request, left());
}

net::Task<ResourceManager::Tried> ResourceManager::ask_while_active(std::size_t number, Method method,
                                                                    const std::string& request, base::Duration limit) {
  const base::MonotonicTime deadline = loop_.clock().monotonic() + limit;
  net::OneShot<Tried> tried(loop_);
  const auto ask = [&]() -> net::Task<void> {
    tried.give({.answer = co_await members_[number]->call(method, request, limit)});
  };
  const auto look = [&]() -> net::Task<void> {
    co_await loop_.sleep(limit / 2);
    const auto active = co_await find_active(deadline - loop_.clock().monotonic());
    if (active && *active != number) tried.give({.another = *active});
  };
  net::Scope scope(loop_);
  scope.spawn(ask());
  scope.spawn(look());
  co_return co_await tried;
}

net::Task<Result<HaState>> ResourceManager::state_of(std::size_t number, base::Duration limit) {
  auto response = co_await members_[number]->call(kGetServiceStatus, "", std::min(limit, kStatusLimit));
  if (response) co_return decode_get_service_status(*response);
  // Without HA it serves no such protocol.
  if (!has_peers() && response.error().kind == ErrorKind::kUnsupported) co_return HaState::kActive;
  co_return std::unexpected(std::move(response).error());
}

net::Task<std::vector<Result<HaState>>> ResourceManager::states() {
  std::vector<Result<HaState>> out(members_.size(), HaState::kInitializing);
  net::OneShot<bool> all(loop_);
  std::size_t open = members_.size();
  const auto ask = [&](std::size_t number) -> net::Task<void> {
    out[number] = co_await state_of(number, kStatusLimit);
    if (--open == 0) all.give(true);
  };
  net::Scope scope(loop_);
  for (std::size_t i = 0; i < members_.size(); ++i) scope.spawn(ask(i));
  co_await all;
  co_return out;
}

net::Task<Result<std::size_t>> ResourceManager::find_active(base::Duration limit) {
  net::OneShot<Result<std::size_t>> found(loop_);
  std::size_t open = members_.size();
  std::string said;
  const auto ask = [&](std::size_t number) -> net::Task<void> {
    const auto state = co_await state_of(number, limit);
    if (state && *state == HaState::kActive) found.give(number);
    if (state) {
      said += base::cat(said.empty() ? "" : "; ", cluster_.members[number].id, " is ", to_string(*state));
    } else {
      said += base::cat(said.empty() ? "" : "; ", cluster_.members[number].id, ": ", state.error().message);
    }
    if (--open == 0) found.give(fail(ErrorKind::kUnavailable, "no ResourceManager is active: ", said));
  };
  net::Scope scope(loop_);
  for (std::size_t i = 0; i < members_.size(); ++i) scope.spawn(ask(i));
  TM_CO_TRY(const std::size_t number, co_await found);
  if (last_active_ && *last_active_ != number) ++failovers_;
  last_active_ = number;
  co_return number;
}

std::uint64_t ResourceManager::calls() const {
  std::uint64_t sum = 0;
  for (const auto& each : members_) sum += each->client.calls_made() + each->admin.calls_made();
  return sum;
}

std::uint64_t ResourceManager::connections() const {
  std::uint64_t sum = 0;
  for (const auto& each : members_) sum += each->client.connections_made() + each->admin.connections_made();
  return sum;
}

}  // namespace tidemark::hadoop
