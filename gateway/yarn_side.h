// Submits drivers to YARN over REST, or over RPC with Kerberos, and follows them by one list request per interval.
//
//   reserve  an application id, which the caller stores before the submission
//   submit   again and again until the ResourceManager answers: it runs an id once
//   stop     kill, then read until the state is final
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "gateway/side_client.h"
#include "gateway/yarn_submission.h"
#include "hadoop/application_client.h"
#include "hadoop/container_logs.h"
#include "hadoop/web_hdfs.h"
#include "net/loop.h"
#include "policy/route/ends.h"

namespace tidemark::gateway {

class YarnSide final : public SideClient {
 public:
  YarnSide(net::EventLoop& loop, std::unique_ptr<hadoop::ApplicationClient> applications, hadoop::ContainerLogs logs,
           hadoop::HdfsAccess hdfs, base::Log log, YarnOptions options, SideOwner owner);

  void start();  // polls until destroyed

  std::string cannot_run(const SparkJob& job) const override;
  net::Task<Result<policy::route::Reservation>> reserve(const Record& record) override;
  net::Task<Submission> submit(const Record& record) override;
  policy::route::Observation look(const Record& record) const override;
  net::Task<Stopped> stop(const Record& record) override;
  net::Task<Result<void>> release(const Record& record, bool moves) override;
  net::Task<Result<DriverOutput>> read_log(const Record& record, std::string position) override;
  net::Task<Result<std::string>> read_executor_log(const Record& record, std::string executor) override;
  std::string app_id(const Record& record) const override;

 private:
  struct Followed {
    std::int64_t run = 0;
    policy::route::Observation seen;  // kUnknown before the first answer
  };
  net::Task<Result<std::vector<YarnResource>>> find_resources(const SparkJob& job);
  net::Task<Result<hadoop::DelegationToken>> token_of(std::string authority);
  net::Task<Result<std::string>> tokens_for(const SparkJob& job);
  net::Task<void> poll();
  net::Task<Result<void>> poll_once();
  net::Task<void> kill_stray(const hadoop::ApplicationState& application);
  void note(const std::string& id, const policy::route::Observation& seen);

  net::EventLoop& loop_;
  std::unique_ptr<hadoop::ApplicationClient> applications_;
  hadoop::ContainerLogs logs_;
  hadoop::HdfsAccess hdfs_;
  base::Log log_;
  const YarnOptions options_;
  const SideOwner owner_;
  mutable std::map<std::string, Followed> followed_;  // look() adds what is asked for
  std::optional<base::MonotonicTime> last_contact_;
  net::Scope scope_;
};

}  // namespace tidemark::gateway
