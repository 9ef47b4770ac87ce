// Applications at the ResourceManager of a cluster: by REST, or by RPC if it requires Kerberos.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "hadoop/application_submission.h"
#include "hadoop/applications.h"
#include "hadoop/resource_manager.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::hadoop {

class ApplicationClient {
 public:
  virtual ~ApplicationClient() = default;
  virtual net::Task<Result<std::string>> reserve_id(base::Duration limit) = 0;
  // Also done if the ResourceManager has this id already. kInvalid: it refused the application.
  virtual net::Task<Result<void>> submit(ApplicationSubmission submission, base::Duration limit) = 0;
  virtual net::Task<Result<ApplicationState>> find(std::string id, base::Duration limit) = 0;  // kNotFound
  // Applications with the tag that have not ended.
  virtual net::Task<Result<std::vector<ApplicationState>>> running(std::string tag, base::Duration limit) = 0;
  virtual net::Task<Result<void>> kill(std::string id, base::Duration limit) = 0;
};

// `workers` resolves names. `user` is sent without Kerberos only.
std::unique_ptr<ApplicationClient> make_application_client(net::EventLoop& loop, net::WorkerPool* workers,
                                                           const RmCluster& cluster, std::string user,
                                                           base::Random random);

}  // namespace tidemark::hadoop
