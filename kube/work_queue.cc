#include "kube/work_queue.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/limits.h"

namespace tidemark::kube {
namespace {

struct Key {
  bool queued = false;
  bool working = false;
  bool again = false;  // added while it was being worked on
  base::MonotonicTime queued_since;
  WorkQueue::Urgency urgency = WorkQueue::Urgency::kRoutine;
  std::optional<base::Backoff> backoff;
  std::optional<base::MonotonicTime> due;
  WorkQueue::Urgency due_urgency = WorkQueue::Urgency::kRoutine;
  // Looks at `due` again when it fires. It is left alone when `due` goes or moves on, so that a key which is added all
  // the time and due much later does not cost a timer each time.
  net::Timer later;
  base::MonotonicTime fires;

  bool idle() const { return !queued && !working && !again && !backoff && !due && !later.armed(); }
};

}  // namespace

struct WorkQueue::Impl {
  Impl(net::EventLoop& event_loop, base::Registry& metrics, std::string_view name, base::Random seeded,
       WorkQueueConfig settings)
      : loop(event_loop),
        component(name),
        random(seeded),
        config(settings),
        line_ready(event_loop),
        ready(event_loop),
        urgent_ready(event_loop),
        depth(metrics.gauge("tidemark_work_queue_depth", "Keys that wait to be reconciled.", {{"component", name}})),
        adds(metrics.counter("tidemark_work_queue_adds_total", "Keys put into the queue.", {{"component", name}})),
        retries(metrics.counter("tidemark_work_queue_retries_total", "Keys put back after a failure.",
                                {{"component", name}})) {}

  void enqueue(const std::string& name, Key& key, Urgency urgency) {
    key.due.reset();
    key.due_urgency = Urgency::kRoutine;
    if (key.working) {
      key.urgency = key.again ? std::max(key.urgency, urgency) : urgency;
      key.again = true;
      return;
    }
    if (key.queued && key.urgency >= urgency) return;
    // A routine key that becomes urgent leaves its old entry behind; take() passes over it.
    if (!key.queued) {
      ++waiting;
      key.queued_since = loop.clock().monotonic();
      adds.add();
    }
    key.queued = true;
    key.urgency = urgency;
    (urgency == Urgency::kUrgent ? urgent : routine).push_back(name);
    show_depth();
    // One key is for one worker: the others would only look and lie down again. (One that is destroyed before it runs
    // would take the wake-up with it: workers of a queue end together.)
    ready.wake_one();
    if (urgency == Urgency::kUrgent) urgent_ready.wake_one();
  }

  std::optional<std::string> take(std::deque<std::string>& from, Urgency urgency) {
    while (!from.empty()) {
      std::string name = std::move(from.front());
      from.pop_front();
      auto at = keys.find(name);
      if (at == keys.end() || !at->second.queued || at->second.urgency != urgency) continue;
      at->second.queued = false;
      at->second.working = true;
      --waiting;
      show_depth();
      return name;
    }
    return std::nullopt;
  }

  std::optional<std::string> take(Urgency least) {
    if (auto name = take(urgent, Urgency::kUrgent)) return name;
    if (least == Urgency::kUrgent) return std::nullopt;
    return take(routine, Urgency::kRoutine);
  }

  void arm(const std::string& name, Key& key) {
    if (key.later.armed() && key.fires <= *key.due) return;
    key.fires = *key.due;
    key.later = loop.after(key.fires - loop.clock().monotonic(), [this, name] { look_at(name); });
  }

  void look_at(const std::string& name) {
    const auto at = keys.find(name);
    if (at == keys.end()) return;
    Key& key = at->second;
    if (!key.due) return forget_if_idle(name);
    if (*key.due > loop.clock().monotonic()) return arm(name, key);
    enqueue(name, key, key.due_urgency);
  }

  void forget_if_idle(const std::string& name) {
    if (auto at = keys.find(name); at != keys.end() && at->second.idle()) keys.erase(at);
  }

  void show_depth() { depth.set(static_cast<double>(waiting + line.size())); }

  net::EventLoop& loop;
  const std::string component;
  base::Random random;
  WorkQueueConfig config;
  std::unordered_map<std::string, Key> keys;
  std::deque<std::string> line;
  std::unordered_map<std::string, base::MonotonicTime> in_line;  // since when
  net::Event line_ready;
  std::deque<std::string> urgent;
  std::deque<std::string> routine;
  std::size_t waiting = 0;
  net::Event ready;
  net::Event urgent_ready;
  base::Gauge& depth;
  base::Counter& adds;
  base::Counter& retries;
};

WorkQueue::WorkQueue(net::EventLoop& loop, base::Registry& metrics, std::string_view name, base::Random random,
                     WorkQueueConfig config)
    : impl_(std::make_unique<Impl>(loop, metrics, name, random, config)) {}

WorkQueue::~WorkQueue() = default;

void WorkQueue::add(const std::string& key, Urgency urgency) {
  impl_->enqueue(key, impl_->keys[key], urgency);
}

void WorkQueue::add_after(const std::string& name, base::Duration delay, Urgency urgency) {
  Key& key = impl_->keys[name];
  if (key.queued) return;  // it comes sooner anyway
  key.due_urgency = std::max(key.due_urgency, urgency);
  const auto due = impl_->loop.clock().monotonic() + delay;
  if (key.due && *key.due <= due) return;
  key.due = due;
  impl_->arm(name, key);
}

void WorkQueue::retry(const std::string& name, Urgency urgency) {
  Key& key = impl_->keys[name];
  if (!key.backoff) {
    key.backoff.emplace(base::BackoffConfig{impl_->config.retry_initial, impl_->config.retry_max, 2.0, 0.2},
                        impl_->random.fork());
  }
  impl_->retries.add();
  add_after(name, key.backoff->next(), urgency);
}

void WorkQueue::forget(const std::string& name) {
  if (auto at = impl_->keys.find(name); at != impl_->keys.end()) {
    at->second.backoff.reset();
    impl_->forget_if_idle(name);
  }
}

net::Task<std::string> WorkQueue::next(Urgency least) {
  net::Event& ready = least == Urgency::kUrgent ? impl_->urgent_ready : impl_->ready;
  while (true) {
    if (auto name = impl_->take(least)) co_return std::move(*name);
    ready.clear();
    co_await ready.wait();
  }
}

void WorkQueue::done(const std::string& name) {
  auto at = impl_->keys.find(name);
  TM_CHECK(at != impl_->keys.end() && at->second.working, "only a key that next() handed out is done");
  at->second.working = false;
  if (at->second.again) {
    at->second.again = false;
    impl_->enqueue(name, at->second, at->second.urgency);
  }
  impl_->forget_if_idle(name);
}

void WorkQueue::stand_in_line(const std::string& key) {
  if (!impl_->in_line.emplace(key, impl_->loop.clock().monotonic()).second) return;
  impl_->line.push_back(key);
  impl_->show_depth();
  impl_->line_ready.set();
}

net::Task<void> WorkQueue::line() {
  while (impl_->line.empty()) {
    impl_->line_ready.clear();
    co_await impl_->line_ready.wait();
  }
}

bool WorkQueue::has_line() const {
  return !impl_->line.empty();
}

std::string WorkQueue::first_in_line() {
  TM_CHECK(!impl_->line.empty(), "line() reports waiting keys");
  std::string key = std::move(impl_->line.front());
  impl_->line.pop_front();
  impl_->in_line.erase(key);
  impl_->show_depth();
  return key;
}

std::size_t WorkQueue::waiting() const {
  return impl_->waiting;
}

WorkQueue::Load WorkQueue::load() const {
  Load out{impl_->waiting + impl_->line.size(), std::nullopt};
  if (!impl_->line.empty()) out.oldest_since = impl_->in_line.at(impl_->line.front());
  if (impl_->waiting == 0) return out;
  for (const auto& [name, key] : impl_->keys) {
    if (key.queued && (!out.oldest_since || key.queued_since < *out.oldest_since)) out.oldest_since = key.queued_since;
  }
  return out;
}

const std::string& WorkQueue::name() const {
  return impl_->component;
}

}  // namespace tidemark::kube
