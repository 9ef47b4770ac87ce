#include "agent/tasks/kubelet_provider.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "kube/decode.h"
#include "model/names.h"

namespace tidemark::agent {
namespace {

constexpr std::size_t kInternerBytesMax = 1024 * 1024;

bool is_unnamed(const model::TaskContainer& container) {
  return container.role == model::ContainerRole::kUnlisted;
}

// Whether one of its groups may be a container that is listed without a group. (A pause container never is, and cannot
// be distinguished before the others are named.)
bool waits_for_a_name(const model::Task& task) {
  const auto without_group = [](const model::TaskContainer& each) {
    const bool over = each.role == model::ContainerRole::kInit && each.state == model::ContainerState::kTerminated;
    return each.path.empty() && !over;
  };
  return !task.terminal() && std::ranges::any_of(task.containers, is_unnamed) &&
         std::ranges::any_of(task.containers, without_group);
}

}  // namespace

KubeletProvider::KubeletProvider(net::EventLoop& loop, net::HttpTransport& transport,
                                 std::function<std::string()> bearer, PodGroups& groups, base::Log log,
                                 KubeletConfig config, KeptList kept)
    : loop_(loop),
      transport_(transport),
      bearer_(std::move(bearer)),
      groups_(groups),
      log_(std::move(log)),
      config_(std::move(config)),
      kept_(std::move(kept)),
      pods_(groups),
      prompted_(loop),
      interner_(kInternerBytesMax) {
  config_.source.provider = model::TaskProviderKind::kKubelet;
  groups_.on_change([this] {
    if (found_unnamed()) prompted_.set();
  });
  groups_.on_new_pod([this] { prompted_.set(); });
}

net::Task<void> KubeletProvider::run() {
  for (;;) {
    prompted_.clear();
    auto pods = co_await ask();
    if (!pods) {
      log_.warn("cannot read the list of pods", {{"error", pods.error()}});
      refuse();
    } else if (pods->empty() && !(groups_.current() && groups_.pods().empty())) {
      log_.debug("the kubelet lists no pods, and some have groups: not believed");
      refuse();
    } else {
      if (to_keep_ && kept_.keep) kept_.keep(*to_keep_);
      take(*std::move(pods));
    }
    to_keep_.reset();
    (void)found_unnamed();
    (void)co_await prompted_.wait_for(until_the_next());
  }
}

// Returns whether there are more such groups than before.
bool KubeletProvider::found_unnamed() {
  std::size_t now = 0;
  for (const TaskPointer& task : provided().tasks) {
    now += static_cast<std::size_t>(std::ranges::count_if(task->containers, is_unnamed));
  }
  const bool more = now > unnamed_;
  unnamed_ = now;
  if (more) name_asks_ = kNameAsks;
  return more;
}

base::Duration KubeletProvider::until_the_next() {
  const bool wanted = std::ranges::any_of(provided().tasks, [](const auto& task) { return waits_for_a_name(*task); });
  if (!wanted || name_asks_ == 0) return config_.interval;
  --name_asks_;
  return std::min(kNameAgain, config_.interval);
}

void KubeletProvider::take(Pods pods) {
  const std::size_t before = provided().unconfirmed;
  const base::MonotonicTime now = loop_.clock().monotonic();
  pods_.set(std::move(pods), now, now);
  if (provided().unconfirmed <= before) return;
  log_.info("the kubelet does not list pods that have cgroups; keeping them for a while",
            {{"pods", provided().unconfirmed}});
}

void KubeletProvider::refuse() {
  if (provided().state == ProviderState::kWaiting) go_on_from_before();
  pods_.refuse_list();
}

// Before the groups of this node are known, ended pods cannot be recognized.
void KubeletProvider::go_on_from_before() {
  if (!kept_.recall || !groups_.current()) return;
  const auto list = kept_.recall();
  if (!list) return;
  auto pods = read(*list);
  if (!pods) {
    log_.warn("cannot read the pods that the previous agent saved", {{"error", pods.error()}});
    return;
  }
  std::erase_if(*pods, [this](const auto& pod) { return groups_.find(pod->task.identity.task) == nullptr; });
  if (pods->empty() && !groups_.pods().empty()) return;
  log_.info("continues with the pods that the previous agent saved", {{"pods", pods->size()}});
  take(*std::move(pods));
}

net::Task<Result<KubeletProvider::Pods>> KubeletProvider::ask() {
  constexpr KubeletQuestion kPods{"/pods", "the list of its pods",
                                  "grant `get` of nodes/pods (kubelets from Kubernetes 1.33 on); for older "
                                  "ones take the pods from the API server"};
  TM_CO_TRY(std::string list,
            co_await ask_kubelet(transport_, bearer_ ? bearer_() : std::string(), kPods, config_.limit));
  if (list.size() > kKubeletAnswerBytesMax) {
    co_return fail(ErrorKind::kExhausted, "the kubelet's list of ", list.size(), " bytes: at most ",
                   kKubeletAnswerBytesMax);
  }
  auto pods = read(list);
  if (!pods) co_return fail(std::move(pods).error().within("the kubelet's list of pods"));
  if (another_) to_keep_ = std::move(list);
  co_return pods;
}

Result<KubeletProvider::Pods> KubeletProvider::read(std::string_view list) {
  Pods pods;
  std::size_t unreadable = 0;
  now_known_.clear();
  bytes_ = 0;
  another_ = false;
  TM_TRY([[maybe_unused]] const auto meta, kube::decode_list(list, [&](std::string_view item) -> Result<void> {
           if (pods.size() == kPodsMax) return fail(ErrorKind::kExhausted, "more than ", kPodsMax, " pods");
           if (auto pod = read_one(item)) {
             bytes_ += pod->task.bytes();
             pods.push_back(std::move(pod));
           } else {
             ++unreadable;
           }
           return {};
         }));
  another_ = another_ || now_known_.size() != known_.size();
  std::swap(known_, now_known_);
  if (pods.empty() && unreadable > 0) return fail(ErrorKind::kInvalid, "none of ", unreadable, " pods can be read");
  return pods;
}

std::shared_ptr<const PodTask> KubeletProvider::read_one(std::string_view item) {
  const std::uint64_t hash = base::TextHash().add(item).value();
  if (const auto found = known_.find(hash); found != known_.end() && found->second.bytes == item.size()) {
    now_known_.insert(*found);
    return found->second.pod;
  }
  another_ = true;
  auto decoded = decode_pod_task(item, config_.source, interner_);
  if (decoded) {
    for (const std::string& note : decoded->notes) {
      log_.warn("cannot read a label or annotation of a pod",
                {{"pod", base::cat(decoded->task.ns, "/", decoded->task.name)}, {"what", note}});
    }
    fit(*decoded);
    auto pod = std::make_shared<const PodTask>(*std::move(decoded));
    now_known_.insert_or_assign(hash, Known{item.size(), pod});
    return pod;
  }
  log_.warn("a pod cannot be read", {{"error", decoded.error()}});
  // Its last readable version counts, if there was one.
  const auto identity = kube::read_identity(item);
  if (!identity) return nullptr;
  for (const auto& [before, known] : known_) {
    if (known.pod->task.identity.task != identity->uid) continue;
    now_known_.insert({before, known});
    return known.pod;
  }
  return nullptr;
}

void KubeletProvider::fit(PodTask& pod) {
  if (pod.task.settings.empty() || bytes_ + pod.task.bytes() <= config_.bytes_max) return;
  pod.task.settings = {};
  log_.warn("too many settings of pods: ignoring those of this pod",
            {{"pod", base::cat(pod.task.ns, "/", pod.task.name)}, {"bytes_max", config_.bytes_max}});
}

}  // namespace tidemark::agent
