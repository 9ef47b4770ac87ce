// Applications of the containers on this node, from the ResourceManager: each requested once, one after another and at
// a low rate, because every node of a cluster does this. An idle connection is closed, so that ten thousand nodes do
// not keep one each.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "hadoop/applications.h"
#include "hadoop/resource_manager.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::yarn_copilot {

inline constexpr std::size_t kApplicationsMax = 4096;

struct ApplicationBookConfig {
  std::optional<hadoop::RmCluster> managers;  // nullopt: no requests, nothing is known
  base::Duration limit = std::chrono::seconds(10);
  base::Duration idle = std::chrono::seconds(10);
  // An application that the ResourceManager does not know (it restarted and has not read its store) is requested again.
  base::Duration unknown_for = std::chrono::minutes(5);
  base::Duration remembered_for = std::chrono::minutes(1);  // after its last container here
  double calls_per_second = 2;
  std::int64_t calls_burst = 5;
};

class ApplicationBook {
 public:
  ApplicationBook(net::EventLoop& loop, net::WorkerPool& workers, base::Log log, base::Registry& metrics,
                  base::Random random, ApplicationBookConfig config);

  // Sets the applications with containers here; requests the unknown ones. Others are dropped after a while, because
  // the class of a failed container may become known only after its end.
  void set(const std::set<std::string>& applications);
  bool asks() const { return config_.managers.has_value(); }
  const hadoop::ApplicationReport* find(std::string_view application) const;  // null: unknown

 private:
  struct Known {
    std::optional<hadoop::ApplicationReport> report;
    std::optional<base::MonotonicTime> not_before;  // of the next request
    base::MonotonicTime wanted;                     // last time that it had a container here
  };
  net::Task<void> run();
  net::Task<void> ask(std::string application);
  std::optional<std::string> next() const;

  net::EventLoop& loop_;
  net::WorkerPool& workers_;
  base::Log log_;
  base::Random random_;
  ApplicationBookConfig config_;
  base::Counter& calls_;
  base::Counter& failed_;
  std::map<std::string, Known, std::less<>> known_;
  std::unique_ptr<hadoop::ResourceManager> manager_;  // null while idle
  base::TokenBucket rate_;
  base::Backoff backoff_;
  bool failing_ = false;
  net::Event wanted_;
  net::Scope scope_;
};

}  // namespace tidemark::yarn_copilot
