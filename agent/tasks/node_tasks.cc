#include "agent/tasks/node_tasks.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tidemark::agent {

NodeTasks::NodeTasks(net::EventLoop& loop, const linux::Hierarchies& hierarchies, const base::Log& log,
                     PodGroupsConfig groups)
    : loop_(loop),
      groups_(loop, hierarchies, log.named("pod-groups"), std::move(groups)),
      host_applications_(groups_, log.named("host-applications")),
      scope_(loop) {}

Result<std::unique_ptr<NodeTasks>> NodeTasks::make(net::EventLoop& loop, const NodeTasksOutside& outside, base::Log log,
                                                   base::Random random, NodeTasksConfig config) {
  TM_CHECK(outside.hierarchies != nullptr, "groups lie somewhere");
  std::unique_ptr<NodeTasks> made(new NodeTasks(loop, *outside.hierarchies, log, std::move(config.groups)));
  std::vector<const TaskProvider*> providers;
  const PodSource source{config.source, config.cluster, {}};
  // A local runtime is no kubelet, and evicts nothing.
  const bool local = config.kubelet.url.scheme == "unix", in_the_clear = config.kubelet.url.scheme == "http";
  const std::function<std::string()> bearer = local || in_the_clear ? nullptr : outside.kubelet_bearer;
  if (config.kubelet.tls.skip_verification) {
    log.warn("the kubelet's certificate is not verified; exposes this agent's token to any server",
             {{"host", config.kubelet.url.host}, {"port", config.kubelet.url.port}});
  }
  if (in_the_clear) {
    log.warn("the kubelet connection is not encrypted; not sending the agent's token");
  }
  config.kubelet.limits.body_bytes_max = kKubeletAnswerBytesMax;
  made->kubelet_client_ = std::make_unique<net::HttpClient>(loop, outside.workers, std::move(config.kubelet));
  if (!local) {
    made->configz_ = std::make_unique<KubeletConfigz>(loop, *made->kubelet_client_, bearer, log.named("kubelet"));
  }
  if (config.pods == NodeTasksConfig::Pods::kKubelet) {
    KubeletConfig kubelet{source};
    if (local) kubelet.name = "local";  // the socket's permissions control access
    made->kubelet_ = std::make_unique<KubeletProvider>(loop, *made->kubelet_client_, bearer, made->groups_,
                                                       log.named(kubelet.name), kubelet, outside.kubelet_list);
    providers.push_back(made->kubelet_.get());
  } else {
    TM_CHECK(outside.reader != nullptr && outside.watcher != nullptr && outside.metrics != nullptr,
             "pods of the API server need a client");
    ApiServerProviderConfig pods;
    pods.source = source;
    pods.node_name = config.node_name;
    made->api_server_ = std::make_unique<ApiServerProvider>(
        kube::InformerParts{loop, *outside.reader, *outside.watcher, log.named("pods"), *outside.metrics, random},
        made->groups_, std::move(pods));
    providers.push_back(made->api_server_.get());
  }
  for (CopilotConfig& each : config.copilots) {
    TM_TRY(auto http, copilot::socket_config(each.socket));
    made->copilots_.push_back(
        std::make_unique<Copilot>(loop, std::move(http), *outside.hierarchies, log.named("copilot"), std::move(each)));
    providers.push_back(&made->copilots_.back()->provider);
  }
  providers.push_back(&made->host_applications_);
  made->list_ = std::make_unique<TaskList>(std::move(providers));
  return made;
}

copilot::Client* NodeTasks::copilot_of(const model::Task& task) {
  const auto told = [&](const TaskPointer& one) { return one->identity == task.identity && one->path == task.path; };
  for (const auto& each : copilots_) {
    if (std::ranges::any_of(each->provider.provided().tasks, told)) return &each->provider.client();
  }
  return nullptr;
}

std::vector<TaskOnDisks> NodeTasks::held_on_disks() const {
  std::vector<TaskOnDisks> out;
  for (const auto& each : copilots_) each->provider.add_held_on_disks(out);
  return out;
}

void NodeTasks::set_limit_permit(copilot::LimitPermit permit) {
  for (const auto& each : copilots_) each->provider.set_limit_permit(permit);
}

std::string_view NodeTasks::limits_say() {
  limits_say_.clear();
  for (const auto& each : copilots_) {
    const std::string& says = each->provider.limits_say();
    if (!says.empty() && !limits_say_.empty()) limits_say_ += "; ";
    limits_say_ += says;
  }
  return limits_say_;
}

std::string_view NodeTasks::awaited() const {
  const auto waits = [](const TaskProvider& one) { return one.provided().state == ProviderState::kWaiting; };
  if (kubelet_ && waits(*kubelet_)) return kubelet_->name();
  if (api_server_ && waits(*api_server_)) return api_server_->name();
  if (waits(host_applications_)) return host_applications_.name();
  if (started_ && loop_.clock().monotonic() - *started_ > kCopilotPatience) return "";
  for (const auto& each : copilots_) {
    if (waits(each->provider)) return each->provider.name();
  }
  return "";
}

void NodeTasks::start() {
  started_ = loop_.clock().monotonic();
  scope_.spawn(groups_.run());
  if (kubelet_) scope_.spawn(kubelet_->run());
  if (configz_) scope_.spawn(configz_->run());
  if (api_server_) scope_.spawn(api_server_->run());
  for (const auto& each : copilots_) scope_.spawn(each->provider.run());
}

}  // namespace tidemark::agent
