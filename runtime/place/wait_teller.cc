#include "runtime/place/wait_teller.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "policy/single_node/local_queue_text.h"
#include "policy/single_node/telling.h"

namespace tidemark::runtime {
namespace {

constexpr base::Duration kWriteLimit = std::chrono::seconds(10);

}  // namespace

WaitTeller::WaitTeller(net::EventLoop& loop, kube::Writer& client, const base::Log& log, FindPod find_pod)
    : loop_(loop), client_(client), log_(log), find_pod_(std::move(find_pod)), changed_(loop) {}

void WaitTeller::set(std::vector<Waits> waiting) {
  waiting_ = std::move(waiting);
  const base::MonotonicTime now = loop_.clock().monotonic();
  for (auto& [uid, told] : told_) told.waits = false;
  for (const Waits& each : waiting_) told_[each.uid].waits = true;
  std::erase_if(told_, [&](const auto& entry) {
    return !entry.second.waits && (!entry.second.not_before || *entry.second.not_before <= now);
  });
  changed_.set();
}

net::Task<void> WaitTeller::run() {
  for (;;) {
    changed_.clear();
    std::optional<base::Duration> later;
    if (const Waits* next = next_due(later)) {
      co_await write(*next);
    } else if (later) {
      co_await changed_.wait_for(*later);
    } else {
      co_await changed_.wait();
    }
  }
}

const WaitTeller::Waits* WaitTeller::next_due(std::optional<base::Duration>& later) {
  const base::MonotonicTime now = loop_.clock().monotonic();
  for (const Waits& each : waiting_) {
    Told& told = told_[each.uid];
    if (!is_news(each, told)) continue;
    if (!told.not_before || *told.not_before <= now) return &each;
    const base::Duration left = *told.not_before - now;
    if (!later || left < *later) later = left;
  }
  return nullptr;
}

// What another process told of it is known by its words alone.
bool WaitTeller::is_news(const Waits& waits, Told& told) const {
  if (told.wait) return policy::single_node::worth_telling(*told.wait, waits.wait);
  const QueuedPod* pod = find_pod_(waits.ns, waits.name);
  if (pod == nullptr || pod->pod.uid != waits.uid) return false;
  if (!pod->told || pod->told_reason != policy::single_node::local_queue_condition_reason(waits.wait.reason) ||
      pod->told_message != policy::single_node::local_queue_text(waits.wait)) {
    return true;
  }
  told.wait = waits.wait;
  return false;
}

net::Task<void> WaitTeller::write(Waits waits) {
  Told& before = told_[waits.uid];
  before.not_before = loop_.clock().monotonic() + kTellPause;
  const QueuedPod* pod = find_pod_(waits.ns, waits.name);
  if (pod == nullptr || pod->pod.uid != waits.uid || !pod->node.empty()) co_return;
  std::string body = body_of(*pod, waits.wait);
  kube::WriteOptions options;
  options.ns = waits.ns;
  options.subresource = "status";
  const auto written = co_await client_.patch(kube::kPods, waits.name, kube::PatchType::kStrategicMerge,
                                              std::move(body), std::move(options), kWriteLimit);
  const auto at = told_.find(waits.uid);  // it may have gone meanwhile
  if (written) {
    if (at != told_.end()) at->second.wait = waits.wait;
    if (std::exchange(failing_, false)) log_.info("conditions of waiting pods are written again");
    co_return;
  }
  const ErrorKind kind = written.error().kind;
  if (kind == ErrorKind::kConflict || kind == ErrorKind::kNotFound) co_return;  // it is another pod now, or none
  if (at != told_.end()) at->second.not_before = loop_.clock().monotonic() + kTellRetry;
  if (std::exchange(failing_, true)) co_return;
  log_.warn("cannot write condition of a waiting pod",
            {{"pod", base::cat(waits.ns, "/", waits.name)}, {"error", written.error().message}});
}

std::string WaitTeller::body_of(const QueuedPod& pod, const policy::single_node::QueueWait& wait) const {
  std::string body;
  base::JsonWriter writer(body);
  writer.begin_object()
      .key("metadata")
      .begin_object()
      .member("uid", pod.pod.uid)
      .member("resourceVersion", pod.meta.resource_version)
      .end_object();
  writer.key("status").begin_object().key("conditions").begin_array().begin_object();
  writer.member("type", std::string_view("PodScheduled"))
      .member("status", std::string_view("False"))
      .member("reason", policy::single_node::local_queue_condition_reason(wait.reason))
      .member("message", policy::single_node::local_queue_text(wait));
  // One that stands there already keeps the time since when it is false.
  if (!pod.told) writer.member("lastTransitionTime", base::format_rfc3339(loop_.clock().wall()));
  writer.end_object().end_array().end_object().end_object();
  return body;
}

}  // namespace tidemark::runtime
