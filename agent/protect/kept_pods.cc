#include "agent/protect/kept_pods.h"

#include "agent/protect/kept_objects.h"
#include "agent/tasks/pod_task.h"
#include "kube/decode.h"
#include "kube/intern.h"
#include "linux/kubepods.h"
#include "model/qos.h"
#include "policy/protect/limits/task_groups.h"

namespace tidemark::agent {

Result<KnownPods> read_kept_pods(const std::string& run_dir, std::string_view besteffort) {
  KnownPods out;
  TM_TRY(const auto list, KeptObjects(run_dir).read(KeptObject::kPods));
  if (!list) return out;
  kube::Interner interner;
  const auto take = [&](std::string_view item) -> Result<void> {
    const auto pod = decode_pod_task(item, {}, interner);
    if (!pod || pod->task.kube_qos != model::KubeQos::kBestEffort) return {};  // without a QoS class: unknown
    auto& whose = policy::protect::is_offline(pod->task) ? out.offline : out.online;
    whose.insert(linux::pod_path_in(besteffort, pod->task.identity.task));
    return {};
  };
  if (auto read = kube::decode_list(*list, take); !read) {
    return fail(std::move(read).error().within("the pods that an agent kept"));
  }
  return out;
}

}  // namespace tidemark::agent
