// What the ResourceManager says of the applications that have containers here: each asked for once, one after the other
// and never fast, since every node of a cluster asks. A connection that has nothing to do is closed: ten thousand nodes
// must not keep one each.
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
  std::optional<hadoop::RmCluster> managers;  // nullopt: nobody is asked, and nothing is known
  base::Duration limit = std::chrono::seconds(10);
  base::Duration idle = std::chrono::seconds(10);
  // One that the ResourceManager does not know (it began anew, and has not read its store) is asked for again.
  base::Duration unknown_for = std::chrono::minutes(5);
  base::Duration remembered_for = std::chrono::minutes(1);  // after its last container here
  double calls_per_second = 2;
  std::int64_t calls_burst = 5;
};

class ApplicationBook {
 public:
  ApplicationBook(net::EventLoop& loop, net::WorkerPool& workers, base::Log log, base::Registry& metrics,
                  base::Random random, ApplicationBookConfig config);

  // These have containers here now: what is not known of them is asked for. Others are forgotten after a while: what
  // went wrong with a container is told by its class, which may be known only after its end.
  void set(const std::set<std::string>& applications);
  bool asks() const { return config_.managers.has_value(); }
  const hadoop::ApplicationReport* find(std::string_view application) const;  // null: not known, or not yet

 private:
  struct Known {
    std::optional<hadoop::ApplicationReport> report;
    std::optional<base::MonotonicTime> not_before;  // of the next question
    base::MonotonicTime wanted;                     // when it had a container here last
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
  std::unique_ptr<hadoop::ResourceManager> manager_;  // null while nothing is asked
  base::TokenBucket rate_;
  base::Backoff backoff_;
  bool failing_ = false;
  net::Event wanted_;
  net::Scope scope_;
};

}  // namespace tidemark::yarn_copilot
