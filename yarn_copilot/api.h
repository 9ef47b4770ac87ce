// The copilot API as an HTTP handler.
//
//   GET  /health                        "ok": this process is alive
//   GET  /information                   {"name":"yarn","version":"v1"}
//   GET  /v1/containers                 containers that have not ended
//   GET  /v1/container?containerID=ID   one, also if it has ended
//   POST /v1/killContainer              {"containerID":"…"}; returns its state before
//   POST /v1/killContainersByResource   {"resources":{"cpu":"2","memory":"1Gi"}}; returns the killed ones
//
// These are Koordinator's; every failure is a 400. The following exist only here; the status gives the kind of error.
// Both return {"error":"…"}.
//
//   GET  /tidemark/v1/containers              with their usage
//   POST /tidemark/v1/stop                    {"containerID":"…","graceSeconds":30,"reason":"…"}; 202 and the deadline
//   GET  /tidemark/v1/limits?containerID=ID   limits of its cgroup
//   POST /tidemark/v1/limits                  {"containerID":"…","cpu":"500m","memory":"1Gi"}; returns the limits in
//   force GET  /tidemark/v1/disks                   I/O limit of all containers, and its state POST /tidemark/v1/permit
//   {"permit":"off"}: the permit of the node's agent for it GET  /tidemark/v1/events                  a line for each
//   container that starts, changes or ends GET  /metrics
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "model/audit_line.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "yarn_copilot/containers.h"
#include "yarn_copilot/disk_limit.h"
#include "yarn_copilot/ends.h"
#include "yarn_copilot/local_limit.h"
#include "yarn_copilot/machine.h"
#include "yarn_copilot/shared_answer.h"
#include "yarn_copilot/work_labels.h"

namespace tidemark::yarn_copilot {

inline constexpr std::size_t kListenersMax = 16;  // of events

struct ApiOutside {
  Containers& containers;
  Ends& ends;
  Machine& machine;
  DiskLimit& disks;
  base::Registry& metrics;
  std::function<void(model::AuditLine)> audit{};  // of limits; may be empty
  const LocalLimit* local = nullptr;              // usage of local directories
};

struct ApiConfig {
  std::set<uid_t> users;  // allowed users; others are rejected
  std::vector<QueueClass> queues;
  base::Duration event_interval = std::chrono::seconds(1);
};

class Api {
 public:
  Api(net::EventLoop& loop, ApiOutside outside, base::Log log, ApiConfig config);
  net::Task<void> answer(net::HttpExchange& exchange);

 private:
  net::Task<void> answer_peer(net::HttpExchange& exchange, const net::Target& target, std::string_view asked);
  net::Task<void> answer_own(net::HttpExchange& exchange, const net::Target& target, std::string_view asked);
  // Each returns the body or an error.
  net::Task<Result<std::string>> list();
  net::Task<Result<std::string>> list_seen();
  net::Task<Result<std::string>> one(std::string id);
  net::Task<Result<std::string>> kill(std::string body, std::string asker);
  net::Task<Result<std::string>> kill_by_resource(std::string body, std::string asker);
  net::Task<Result<std::string>> stop(std::string body, std::string asker);
  net::Task<Result<std::string>> limits(std::string id);
  Result<std::string> disks() const;
  Result<std::string> take_permit(std::string_view body);
  net::Task<Result<std::string>> set_limits(std::string body, std::string asker);
  net::Task<void> stream(net::HttpExchange& exchange);
  using Look = std::shared_ptr<const std::vector<SeenContainer>>;
  net::Task<Result<Look>> look();

  net::EventLoop& loop_;
  ApiOutside outside_;
  base::Log log_;
  ApiConfig config_;
  base::Counter& requests_;
  base::Counter& refused_;
  std::size_t listeners_ = 0;
  SharedAnswer<Look> looked_;  // shared by all listeners: a pass reads all processes of the machine
};

}  // namespace tidemark::yarn_copilot
