#include "hadoop/application_client.h"

#include <utility>

#include "hadoop/applications_rest.h"

namespace tidemark::hadoop {
namespace {

class ApplicationsRpc final : public ApplicationClient {
 public:
  ApplicationsRpc(net::EventLoop& loop, net::WorkerPool* workers, RmCluster cluster, base::Random random)
      : manager_(loop, workers, std::move(cluster), random) {}

  net::Task<Result<std::string>> reserve_id(base::Duration limit) override {
    TM_CO_TRY(const ApplicationId id, co_await manager_.reserve_application(limit));
    co_return to_string(id);
  }
  net::Task<Result<void>> submit(ApplicationSubmission submission, base::Duration limit) override {
    return manager_.submit(std::move(submission), limit);
  }
  net::Task<Result<ApplicationState>> find(std::string id, base::Duration limit) override {
    TM_CO_TRY(const ApplicationId parsed, parse_application_id(id));
    co_return co_await manager_.application_state(parsed, limit);
  }
  net::Task<Result<std::vector<ApplicationState>>> running(std::string tag, base::Duration limit) override {
    return manager_.running_applications(std::move(tag), limit);
  }
  net::Task<Result<void>> kill(std::string id, base::Duration limit) override {
    TM_CO_TRY(const ApplicationId parsed, parse_application_id(id));
    co_return co_await manager_.kill(parsed, limit);
  }

 private:
  ResourceManager manager_;
};

}  // namespace

std::unique_ptr<ApplicationClient> make_application_client(net::EventLoop& loop, net::WorkerPool* workers,
                                                           const RmCluster& cluster, std::string user,
                                                           base::Random random) {
  if (cluster.security) return std::make_unique<ApplicationsRpc>(loop, workers, cluster, random);
  return std::make_unique<ApplicationsRest>(loop, workers, cluster, std::move(user));
}

}  // namespace tidemark::hadoop
