// Applications and queues at a ResourceManager's REST API: /ws/v1/cluster/apps and /ws/v1/cluster/scheduler. Of several
// ResourceManagers the active one answers; a standby one redirects.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hadoop/application_client.h"
#include "hadoop/negotiate.h"
#include "hadoop/queues.h"
#include "hadoop/resource_manager.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::hadoop {

inline constexpr std::size_t kApplicationsAnswerBytesMax = 64 * 1024 * 1024;

Result<std::vector<ApplicationState>> parse_application_list(std::string_view json);
Result<ApplicationState> parse_application(std::string_view json);

class ApplicationsRest final : public ApplicationClient {
 public:
  // Members without a web address are not asked.
  ApplicationsRest(net::EventLoop& loop, net::WorkerPool* workers, const RmCluster& cluster, std::string user);

  net::Task<Result<std::string>> reserve_id(base::Duration limit) override;
  net::Task<Result<void>> submit(ApplicationSubmission submission, base::Duration limit) override;
  net::Task<Result<ApplicationState>> find(std::string id, base::Duration limit) override;
  net::Task<Result<std::vector<ApplicationState>>> running(std::string tag, base::Duration limit) override;
  net::Task<Result<void>> kill(std::string id, base::Duration limit) override;
  // The leaf queues of the scheduler.
  net::Task<Result<std::vector<QueueState>>> queues(base::Duration limit);

 private:
  struct Member {
    std::unique_ptr<net::HttpClient> client;
    std::unique_ptr<NegotiatingTransport> proving;  // with Kerberos
  };
  net::Task<Result<net::HttpResponse>> ask(std::string method, std::string path, std::string body,
                                           base::Duration limit);

  std::vector<Member> members_;
  std::string user_;
  std::size_t active_ = 0;
};

}  // namespace tidemark::hadoop
