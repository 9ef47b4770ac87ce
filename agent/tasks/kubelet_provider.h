// The pods of this node from the kubelet's list: GET /pods, which needs only the permission nodes/pods.
//
// Asked every `interval`, and at once when a pod's group is created. The list names the group of a container only a
// second or two after its creation: the kubelet checks its runtime once a second, and the result goes through the API
// server. So while a group is unnamed, the kubelet is asked again each kNameAgain, at most kNameAsks times.
//
// The last list stays after an unreliable answer: an error, an answer that is no list, or an empty list, because a
// kubelet that has just started also sends one. An empty list counts only if no pod has a group. A kubelet that has
// just started may list only static pods: a pod that is no longer listed is unconfirmed while its group exists
// (kUnconfirmedFor).
//
// A kubelet authenticates callers through the API server. While that is away it refuses new callers, so an agent that
// starts then uses the list that the earlier agent saved, for pods that have groups.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/tasks/kubelet_question.h"
#include "agent/tasks/pod_groups.h"
#include "agent/tasks/pod_tasks.h"
#include "agent/tasks/provider.h"
#include "base/log.h"
#include "base/result.h"
#include "kube/intern.h"
#include "net/http_client.h"
#include "net/loop.h"

namespace tidemark::agent {

inline constexpr std::size_t kKubeletAnswerBytesMax = 32 * 1024 * 1024;  // enough for the pods of a full node

inline constexpr base::Duration kNameAgain = std::chrono::seconds(1);
inline constexpr int kNameAsks = 5;

struct KubeletConfig {
  PodSource source;
  std::string name = "kubelet";  // its name as a provider
  base::Duration interval = std::chrono::seconds(10);
  base::Duration limit = kKubeletAnswerLimit;  // of one answer
  // Of all tasks. Pods beyond it are kept without their settings (model::Task::settings): their use still counts.
  std::size_t bytes_max = 4 * 1024 * 1024;
};

// The last accepted list, for the next agent. Both may be empty.
struct KeptList {
  std::function<void(std::string_view)> keep{};
  std::function<std::optional<std::string>()> recall{};
};

class KubeletProvider final : public TaskProvider {
 public:
  // `transport` leads to the kubelet; `bearer` returns the token to send ("" for none) and is called each time, so that
  // a rotated token is used. Both and the groups outlive it.
  KubeletProvider(net::EventLoop& loop, net::HttpTransport& transport, std::function<std::string()> bearer,
                  PodGroups& groups, base::Log log, KubeletConfig config, KeptList kept = {});

  net::Task<void> run();

  std::string_view name() const override { return config_.name; }
  const ProvidedTasks& provided() const override { return pods_.provided(); }

 private:
  using Pods = std::vector<std::shared_ptr<const PodTask>>;
  struct Known {
    std::size_t bytes = 0;
    std::shared_ptr<const PodTask> pod;
  };

  net::Task<Result<Pods>> ask();
  bool found_unnamed();
  base::Duration until_the_next();
  void take(Pods pods);
  void refuse();
  void go_on_from_before();
  Result<Pods> read(std::string_view list);
  std::shared_ptr<const PodTask> read_one(std::string_view item);
  void fit(PodTask& pod);

  net::EventLoop& loop_;
  net::HttpTransport& transport_;
  std::function<std::string()> bearer_;
  PodGroups& groups_;
  base::Log log_;
  KubeletConfig config_;
  KeptList kept_;
  std::optional<std::string> to_keep_;  // a list that differs from the saved one
  PodTasks pods_;
  net::Event prompted_;
  std::size_t unnamed_ = 0;  // groups of its pods that the last list did not name
  int name_asks_ = 0;        // remaining questions because of them
  kube::Interner interner_;
  // By a hash of the bytes: an unchanged pod is not decoded again. (The order of the list changes each time.)
  std::unordered_map<std::uint64_t, Known> known_, now_known_;
  bool another_ = false;   // the current list differs from the last one
  std::size_t bytes_ = 0;  // of the pods of the current list
};

}  // namespace tidemark::agent
