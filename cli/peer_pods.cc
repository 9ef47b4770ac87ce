#include "cli/peer_pods.h"

#include <algorithm>
#include <utility>

#include "agent/tasks/pod_task.h"
#include "base/json.h"
#include "base/text.h"
#include "kube/intern.h"

namespace tidemark::cli {
namespace {

constexpr std::string_view kManagersImage = "koord-manager";

// "koord-manager" of "ghcr.io:443/koordinator-sh/koord-manager:v1.6@sha256:…". A pod of another name that runs it is
// found; one of ours that is only called so is not.
std::string_view program_of(std::string_view image) {
  image = image.substr(0, image.find('@'));
  if (const auto slash = image.rfind('/'); slash != std::string_view::npos) image.remove_prefix(slash + 1);
  return image.substr(0, image.find(':'));
}

template <class Is>
bool any_in(const Json& object, std::string_view list, const Is& is) {
  const Json* all = object.member(list);
  return all != nullptr && all->is_array() && std::ranges::any_of(all->as_array(), is);
}

}  // namespace

Result<void> PeerPods::take(std::string_view pod) {
  // Skips nearly all pods cheaply: there are very many.
  if (!pod.contains(policy::state::kPeersContainer) && !pod.contains(kManagersImage)) return {};
  TM_TRY(const Json json, Json::parse(pod));
  const Json* meta = json.member("metadata");
  const Json* spec = json.member("spec");
  if (meta == nullptr || spec == nullptr) return {};
  kube::Interner interner;
  const auto decoded = agent::decode_pod_task(pod, {}, interner);
  if (decoded && policy::state::runs_peers_agent(decoded->task, agents_namespace)) {
    agents_on.emplace(spec->text_at("nodeName"));
  }
  const auto is_manager = [](const Json& container) {
    return program_of(container.text_at("image")) == kManagersImage;
  };
  if (any_in(*spec, "containers", is_manager)) {
    managers.push_back(base::cat(meta->text_at("namespace"), "/", meta->text_at("name")));
  }
  return {};
}

}  // namespace tidemark::cli
