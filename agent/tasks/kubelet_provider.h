// The pods of this node as its kubelet lists them: GET /pods, which needs the right nodes/pods and no other.
//
// Asked every `interval`, and at once when a pod's group is made. Of a container the list says which group is its own
// only a second or two after that was made: the kubelet looks at its runtime once a second, and what it saw goes by the
// API server. So after a group that no list names it is asked again each kNameAgain, kNameAsks times at most.
//
// What cannot be believed leaves the last list: an
// error, an answer that is no list, and an empty one, because a kubelet that has just started answers so as well. Only
// where no pod has a group either are there none. One that has just started may list its static pods alone: a pod that
// is not listed any more is unconfirmed while its group is there (kUnconfirmedFor).
//
// A kubelet asks the API server who asks it. While that is away it answers nobody anew, so an agent that starts then
// goes on by the list that the one before it kept, as far as its pods have groups.
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

inline constexpr std::size_t kKubeletAnswerBytesMax = 32 * 1024 * 1024;  // of pods that fill a node, with room

inline constexpr base::Duration kNameAgain = std::chrono::seconds(1);
inline constexpr int kNameAsks = 5;

struct KubeletConfig {
  PodSource source;
  std::string name = "kubelet";  // who answers as one
  base::Duration interval = std::chrono::seconds(10);
  base::Duration limit = kKubeletAnswerLimit;  // of one answer
  // Of all tasks. Pods past it are kept without their settings (model::Task::settings): what they use still counts.
  std::size_t bytes_max = 4 * 1024 * 1024;
};

// The last list that was believed, for the agent after this one. Both may be empty.
struct KeptList {
  std::function<void(std::string_view)> keep{};
  std::function<std::optional<std::string>()> recall{};
};

class KubeletProvider final : public TaskProvider {
 public:
  // `transport` leads to the kubelet; `bearer` answers the token to send ("" for none) and is asked each time, so that
  // a rotated one is seen. Both and the groups outlive it.
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
  std::optional<std::string> to_keep_;  // another list than the one that was kept
  PodTasks pods_;
  net::Event prompted_;
  std::size_t unnamed_ = 0;  // groups of its pods that the last list did not name
  int name_asks_ = 0;        // so many are left because of them
  kube::Interner interner_;
  // By a hash of the bytes: a pod that did not change is not decoded again. (The order of the list changes each time.)
  std::unordered_map<std::uint64_t, Known> known_, now_known_;
  bool another_ = false;   // the list that is being read says something else than the one before
  std::size_t bytes_ = 0;  // of the pods of the list that is being read
};

}  // namespace tidemark::agent
