#include "runtime/node/node_object.h"

#include <sys/utsname.h>

#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::runtime {
namespace {

constexpr base::Duration kNodeCallLimit = std::chrono::seconds(10);
constexpr base::Duration kNodeRetry = std::chrono::seconds(1);

void amounts(base::JsonWriter& out, std::string_view key, const model::Resources& amount, std::int64_t pods) {
  out.key(key).begin_object();
  out.member("cpu", base::cat(amount.cpu.value, "m")).member("memory", base::cat(amount.memory.value));
  out.member("pods", base::cat(pods)).end_object();
}

std::string_view architecture(std::string_view machine) {
  return machine == "x86_64" ? "amd64" : machine == "aarch64" ? "arm64" : machine;
}

}  // namespace

NodeObject::NodeObject(net::EventLoop& loop, kube::Client& client, base::Log log, NodeFacts facts)
    : loop_(loop), client_(client), log_(std::move(log)), facts_(std::move(facts)), since_(loop.clock().wall()) {}

std::string NodeObject::status() const {
  utsname system{};
  ::uname(&system);
  const std::string now = base::format_rfc3339(loop_.clock().wall());
  std::string body;
  base::JsonWriter out(body);
  out.begin_object().key("status").begin_object();
  amounts(out, "capacity", facts_.capacity, facts_.pods_max);
  amounts(out, "allocatable", facts_.allocatable, facts_.pods_max);
  out.key("addresses").begin_array();
  out.begin_object().member("type", "InternalIP").member("address", "127.0.0.1").end_object();
  out.begin_object().member("type", "Hostname").member("address", facts_.name).end_object();
  out.end_array();
  out.key("conditions").begin_array().begin_object();
  out.member("type", "Ready").member("status", "True").member("reason", "RuntimeReady");
  out.member("message", facts_.without_groups.empty()
                            ? "pods run as processes of this machine"
                            : base::cat("pods run as processes of this machine, without limits: they have no groups: ",
                                        facts_.without_groups));
  out.member("lastHeartbeatTime", now).member("lastTransitionTime", base::format_rfc3339(since_)).end_object();
  out.end_array();
  out.key("nodeInfo").begin_object();
  out.member("kernelVersion", system.release).member("operatingSystem", "linux");
  out.member("architecture", architecture(system.machine)).member("osImage", "");
  out.member("containerRuntimeVersion", "tidemark://" TIDEMARK_VERSION).member("kubeletVersion", "none");
  out.member("kubeProxyVersion", "").member("machineID", "").member("systemUUID", "").member("bootID", "");
  out.end_object().end_object().end_object();
  return body;
}

net::Task<Result<void>> NodeObject::make() {
  utsname system{};
  ::uname(&system);
  const Json labels = Json::object({{"kubernetes.io/hostname", facts_.name},
                                    {"kubernetes.io/os", "linux"},
                                    {"kubernetes.io/arch", architecture(system.machine)}});
  const Json node = Json::object({{"metadata", Json::object({{"name", facts_.name}, {"labels", labels}})}});
  const auto made = co_await client_.create(kube::kNodes, node.dump(), {}, "", kNodeCallLimit);
  if (!made && made.error().kind != ErrorKind::kAlreadyExists) co_return std::unexpected(made.error());
  co_return Result<void>();
}

net::Task<Result<void>> NodeObject::tell() {
  kube::WriteOptions options;
  options.subresource = "status";
  const auto told = co_await client_.patch(kube::kNodes, facts_.name, kube::PatchType::kStrategicMerge, status(),
                                           std::move(options), kNodeCallLimit);
  if (!told) co_return std::unexpected(told.error());
  co_return Result<void>();
}

net::Task<void> NodeObject::run() {
  while (true) {
    auto told = co_await tell();
    if (!told && told.error().kind == ErrorKind::kNotFound) {
      told = co_await make();
      if (told) told = co_await tell();
    }
    if (!told) log_.warn("cannot publish the node", {{"error", told.error().message}});
    co_await loop_.sleep(told ? kHeartbeat : kNodeRetry);
  }
}

}  // namespace tidemark::runtime
