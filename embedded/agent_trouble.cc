#include "embedded/agent_trouble.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "agent/latch/latch.h"
#include "base/json.h"
#include "model/isolation.h"

namespace tidemark::embedded {
namespace {

constexpr base::Duration kCallLimit = std::chrono::seconds(10);

// Where there are no groups nobody was ever held back; in any other trouble what an agent before wrote may stand.
std::string_view reason_of(const Error& error) {
  return error.kind == ErrorKind::kNotFound ? model::kNoGroups : model::kUnable;
}

// As an agent that has not copied it yet sees it.
bool is_switched_off(const agent::MachinePlaces& places) {
  return agent::read_latch(agent::run_latch(places.run_dir)).has_value() ||
         agent::read_latch(places.latch_file).has_value();
}

std::string condition(std::string_view reason, bool off, const std::string& why, base::WallTime at) {
  const std::string now = base::format_rfc3339(at);
  std::string body;
  base::JsonWriter out(body);
  out.begin_object().key("status").begin_object().key("conditions").begin_array().begin_object();
  out.member("type", model::kIsolationCondition).member("status", std::string_view(off ? "True" : "False"));
  out.member("reason", reason);
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
  const bool off = is_switched_off(places_);
  if (told_ == why && told_off_ == off) co_return;
  kube::WriteOptions options;
  options.subresource = "status";
  // Before the runtime has made the node nobody can be told.
  const auto told = co_await around.client.patch(kube::kNodes, node_name_, kube::PatchType::kStrategicMerge,
                                                 condition(reason_of(error), off, why, around.loop.clock().wall()),
                                                 std::move(options), kCallLimit);
  if (!told) co_return;
  told_ = std::move(why);
  told_off_ = off;
}

}  // namespace tidemark::embedded
