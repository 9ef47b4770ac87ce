#include "embedded/agent_trouble.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "agent/protect/status.h"
#include "base/json.h"
#include "model/isolation.h"

namespace tidemark::embedded {
namespace {

constexpr base::Duration kCallLimit = std::chrono::seconds(10);

// Where there are no groups nobody was ever held back; in any other trouble what an agent before wrote may stand.
std::string_view reason_of(const Error& error) {
  return error.kind == ErrorKind::kNotFound ? agent::kNoGroups : "Unable";
}

std::string condition(std::string_view reason, const std::string& why, base::WallTime at) {
  const std::string now = base::format_rfc3339(at);
  std::string body;
  base::JsonWriter out(body);
  out.begin_object().key("status").begin_object().key("conditions").begin_array().begin_object();
  out.member("type", model::kIsolationCondition).member("status", "False").member("reason", reason);
  out.member("message", why).member("lastHeartbeatTime", now).member("lastTransitionTime", now);
  out.end_object().end_array().end_object().end_object();
  return body;
}

}  // namespace

net::Task<void> AgentTrouble::tell(const ComponentSurroundings& around, const Error& error) {
  std::string why = error.message;
  if (std::exchange(logged_, why) != why) {
    around.log.error("this machine is not measured, nothing of it is sold, and nobody is held back: it is tried again",
                     {{"error", why}});
  }
  if (told_ == why) co_return;
  kube::WriteOptions options;
  options.subresource = "status";
  // Before the runtime has made the node nobody can be told.
  const auto told = co_await around.client.patch(kube::kNodes, node_name_, kube::PatchType::kStrategicMerge,
                                                 condition(reason_of(error), why, around.loop.clock().wall()),
                                                 std::move(options), kCallLimit);
  if (told) told_ = std::move(why);
}

}  // namespace tidemark::embedded
