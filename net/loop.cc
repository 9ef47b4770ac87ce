#include "net/loop.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/fd.h"

namespace tidemark::net {
namespace {

// A delay beyond it is "never" in practice, and due times stay far from overflow.
constexpr base::Duration kDelayMax = std::chrono::hours(24 * 365 * 10);
constexpr int kEventsPerRound = 256;
constexpr std::size_t kSpareTimersMax = 16;
// run_ready() is for tests and shutdown; more rounds than this mean that something is always ready.
constexpr int kReadyRoundsMax = 1'000'000;

std::uint32_t to_epoll(std::uint32_t events) {
  return ((events & kReadable) != 0 ? EPOLLIN : 0U) | ((events & kWritable) != 0 ? EPOLLOUT : 0U);
}

std::uint32_t from_epoll(std::uint32_t events) {
  return ((events & EPOLLIN) != 0 ? kReadable : 0U) | ((events & EPOLLOUT) != 0 ? kWritable : 0U) |
         ((events & (EPOLLHUP | EPOLLERR)) != 0 ? kHangup : 0U);
}

// Waits to the nanosecond where the kernel can (5.11), else rounds up to milliseconds: waking early would spin.
int wait_for_events(int epoll_fd, epoll_event* events, int events_max, std::optional<base::Duration> limit) {
  // Of the kernel, so the same for all loops; no thread_local, of which one byte alone is what mold 1.10 lays out
  // wrong.
  static std::atomic<bool> pwait2_missing = false;
  if (!pwait2_missing.load(std::memory_order_relaxed)) {
    timespec time{};
    if (limit) {
      time.tv_sec = limit->count() / 1'000'000'000;
      time.tv_nsec = limit->count() % 1'000'000'000;
    }
    const int count = epoll_pwait2(epoll_fd, events, events_max, limit ? &time : nullptr, nullptr);
    // EPERM: an old seccomp profile that does not know the call.
    if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return count;
    pwait2_missing.store(true, std::memory_order_relaxed);
  }
  int milliseconds = -1;
  if (limit) {
    constexpr base::Duration kMost = std::chrono::hours(1);
    milliseconds = static_cast<int>((std::min(*limit, kMost).count() + 999'999) / 1'000'000);
  }
  return epoll_wait(epoll_fd, events, events_max, milliseconds);
}

using TimerKey = std::pair<base::MonotonicTime, std::uint64_t>;  // due, then in the order of making

}  // namespace

// `home` is shared by the loop and all its handles, and null once the loop is gone: handles may outlive it.
struct Timer::Entry {
  std::shared_ptr<EventLoop::Impl*> home;
  TimerKey key;
  std::function<void()> callback;
  bool armed = true;
};

struct FdWatch::Entry : std::enable_shared_from_this<FdWatch::Entry> {
  std::shared_ptr<EventLoop::Impl*> home;
  int fd = -1;
  std::uint32_t events = 0;
  std::function<void(std::uint32_t)> callback;
  bool cancelled = false;
  bool registered = false;
  Fd owned;  // of watch_signals
};

struct EventLoop::Impl {
  using Timers = std::map<TimerKey, std::shared_ptr<Timer::Entry>>;

  const base::Clock& clock;
  std::shared_ptr<Impl*> home = std::make_shared<Impl*>(this);
  Fd epoll;
  Fd wake;

  Waiter* first = nullptr;
  Waiter* last = nullptr;
  std::size_t waiters = 0;
  std::vector<std::function<void()>> posted;
  // A cancelled timer leaves at once, so there is no garbage to bound.
  Timers timers;
  std::uint64_t timers_made = 0;
  // Fired timers are reused: a wait each second, for months, allocates nothing.
  std::vector<Timers::node_type> spare;
  // Cancelled while events are given out: the rest of the batch may still point to them.
  std::vector<std::shared_ptr<FdWatch::Entry>> cancelled;
  bool giving_out = false;
  bool in_round = false;
  bool stopping = false;

  std::mutex mutex;
  std::vector<std::function<void()>> from_threads;

  explicit Impl(const base::Clock& c)
      : clock(c), epoll(epoll_create1(EPOLL_CLOEXEC)), wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    TM_CHECK(epoll && wake, "an event loop needs two descriptors; raise the limit of open files");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = nullptr;
    TM_CHECK(epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) == 0, "epoll must take an eventfd");
    spare.reserve(kSpareTimersMax);
  }

  ~Impl() {
    *home = nullptr;
    while (first != nullptr) unlink(*first);
    // Destroying a callback may post another.
    while (!posted.empty()) std::exchange(posted, {}).clear();
    // A callback often holds the owner of its own timer; taking it out opens that circle.
    const auto left = std::exchange(timers, {});
    for (const auto& [key, entry] : left) {
      entry->armed = false;
      const auto callback = std::exchange(entry->callback, nullptr);
    }
  }

  void link(Waiter& waiter) {
    waiter.previous_ = last;
    waiter.next_ = nullptr;
    (last != nullptr ? last->next_ : first) = &waiter;
    last = &waiter;
    ++waiters;
  }

  void unlink(Waiter& waiter) {
    (waiter.previous_ != nullptr ? waiter.previous_->next_ : first) = waiter.next_;
    (waiter.next_ != nullptr ? waiter.next_->previous_ : last) = waiter.previous_;
    waiter.previous_ = waiter.next_ = nullptr;
    waiter.loop_ = nullptr;
    --waiters;
  }

  // Each of the three runs what was there when it began; what that adds is for the next round, so none starves the
  // rest.
  bool run_waiters() {
    const std::size_t count = waiters;
    for (std::size_t i = 0; i < count && first != nullptr; ++i) {
      Waiter& waiter = *first;
      unlink(waiter);
      std::exchange(waiter.handle_, nullptr).resume();
    }
    return count > 0;
  }

  bool run_posted() {
    auto running = std::exchange(posted, {});
    for (auto& callback : running) callback();
    return !running.empty();
  }

  bool run_timers() {
    if (timers.empty()) return false;
    const base::MonotonicTime now = clock.monotonic();
    const std::uint64_t made_before = timers_made;
    bool worked = false;
    while (!timers.empty()) {
      auto next = timers.begin();
      if (next->first.first > now || next->first.second >= made_before) break;
      Timers::node_type node = timers.extract(next);
      Timer::Entry& entry = *node.mapped();
      entry.armed = false;
      const auto callback = std::exchange(entry.callback, nullptr);
      callback();
      if (spare.size() < kSpareTimersMax) spare.push_back(std::move(node));
      worked = true;
    }
    return worked;
  }

  std::shared_ptr<Timer::Entry> arm(base::MonotonicTime due, std::function<void()> callback) {
    Timers::node_type node;
    if (!spare.empty()) {
      node = std::move(spare.back());
      spare.pop_back();
    }
    // A fired timer whose handle still exists is not reused, because the handle reports that it fired.
    std::shared_ptr<Timer::Entry> entry =
        !node.empty() && node.mapped().use_count() == 1 ? node.mapped() : std::make_shared<Timer::Entry>();
    entry->home = home;
    entry->key = {due, timers_made++};
    entry->callback = std::move(callback);
    entry->armed = true;
    if (node.empty()) {
      timers.emplace(entry->key, entry);
    } else {
      node.key() = entry->key;
      node.mapped() = entry;
      timers.insert(std::move(node));
    }
    return entry;
  }

  std::optional<base::Duration> wait_limit(bool wait) const {
    if (!wait || stopping || first != nullptr || !posted.empty()) return base::Duration(0);
    if (timers.empty()) return std::nullopt;
    return std::max(base::Duration(0), timers.begin()->first.first - clock.monotonic());
  }

  bool poll(bool wait) {
    epoll_event events[kEventsPerRound];
    const int count = wait_for_events(epoll.get(), events, kEventsPerRound, wait_limit(wait));
    TM_CHECK(count >= 0 || errno == EINTR, "epoll_wait fails only by a bug of ours");
    giving_out = true;
    for (int i = 0; i < count; ++i) {
      auto* entry = static_cast<FdWatch::Entry*>(events[i].data.ptr);
      if (entry == nullptr) {
        take_from_threads();
      } else if (!entry->cancelled) {
        const auto kept = entry->shared_from_this();  // the callback may destroy its handle
        kept->callback(from_epoll(events[i].events));
      }
    }
    giving_out = false;
    std::exchange(cancelled, {}).clear();
    return count > 0;
  }

  void take_from_threads() {
    std::uint64_t count = 0;
    (void)!read(wake.get(), &count, sizeof count);
    std::vector<std::function<void()>> taken;
    {
      const std::lock_guard lock(mutex);
      taken.swap(from_threads);
    }
    std::move(taken.begin(), taken.end(), std::back_inserter(posted));
  }

  enum class Rest { kNone, kWhenIdle, kAlways };

  bool round(Rest rest) {
    TM_CHECK(!in_round, "a callback must not turn the loop that calls it");
    in_round = true;
    bool worked = run_waiters();
    worked = run_posted() || worked;
    worked = run_timers() || worked;
    worked = poll(rest == Rest::kAlways || (rest == Rest::kWhenIdle && !worked)) || worked;
    in_round = false;
    return worked || first != nullptr || !posted.empty();
  }
};

Waiter::~Waiter() {
  if (loop_ != nullptr) loop_->impl_->unlink(*this);
}

void Waiter::wake(EventLoop& loop) {
  if (loop_ != nullptr) return;
  TM_CHECK(handle_, "only a suspended coroutine can be woken");
  loop_ = &loop;
  loop.impl_->link(*this);
}

Timer::Timer(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}
Timer::Timer(Timer&&) noexcept = default;
Timer& Timer::operator=(Timer&& other) noexcept {
  if (this != &other) {
    cancel();
    entry_ = std::move(other.entry_);
  }
  return *this;
}
Timer::~Timer() {
  cancel();
}

void Timer::cancel() {
  const auto entry = std::exchange(entry_, nullptr);
  if (entry == nullptr || !entry->armed) return;
  entry->armed = false;
  if (*entry->home != nullptr) (*entry->home)->timers.erase(entry->key);
}

bool Timer::armed() const {
  return entry_ != nullptr && entry_->armed && *entry_->home != nullptr;
}

FdWatch::FdWatch(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}
FdWatch::FdWatch(FdWatch&&) noexcept = default;
FdWatch& FdWatch::operator=(FdWatch&& other) noexcept {
  if (this != &other) {
    cancel();
    entry_ = std::move(other.entry_);
  }
  return *this;
}
FdWatch::~FdWatch() {
  cancel();
}

void FdWatch::want(std::uint32_t events) {
  if (entry_ == nullptr || entry_->events == events) return;
  entry_->events = events;
  if (*entry_->home == nullptr || !entry_->registered) return;
  epoll_event event{};
  event.events = to_epoll(events);
  event.data.ptr = entry_.get();
  TM_CHECK(epoll_ctl((*entry_->home)->epoll.get(), EPOLL_CTL_MOD, entry_->fd, &event) == 0,
           "a watched descriptor must stay open");
}

void FdWatch::cancel() {
  auto entry = std::exchange(entry_, nullptr);
  if (entry == nullptr) return;
  entry->cancelled = true;
  EventLoop::Impl* loop = *entry->home;
  if (loop == nullptr) return;
  if (entry->registered) {
    TM_CHECK(epoll_ctl(loop->epoll.get(), EPOLL_CTL_DEL, entry->fd, nullptr) == 0,
             "a watch must go before its descriptor is closed");
  }
  if (loop->giving_out) loop->cancelled.push_back(std::move(entry));
}

EventLoop::EventLoop(const base::Clock& clock) : clock_(clock), impl_(std::make_unique<Impl>(clock)) {}
EventLoop::~EventLoop() = default;

void EventLoop::run() {
  while (!impl_->stopping) impl_->round(Impl::Rest::kAlways);
  impl_->stopping = false;
}

void EventLoop::stop() {
  impl_->stopping = true;
}

void EventLoop::stop_from_any_thread() {
  post_from_any_thread([this] { stop(); });
}

void EventLoop::turn(Wait wait) {
  impl_->round(wait == Wait::kYes ? Impl::Rest::kWhenIdle : Impl::Rest::kNone);
}

void EventLoop::run_ready() {
  for (int rounds = 0; impl_->round(Impl::Rest::kNone); ++rounds) {
    TM_CHECK(rounds < kReadyRoundsMax, "the loop never waits: a descriptor stays ready, or a task spins");
  }
}

std::optional<base::MonotonicTime> EventLoop::next_timer() const {
  if (impl_->timers.empty()) return std::nullopt;
  return impl_->timers.begin()->first.first;
}

Timer EventLoop::after(base::Duration delay, std::function<void()> callback) {
  return Timer(impl_->arm(clock_.monotonic() + std::clamp(delay, base::Duration(0), kDelayMax), std::move(callback)));
}

FdWatch EventLoop::watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> callback) {
  auto entry = std::make_shared<FdWatch::Entry>();
  entry->home = impl_->home;
  entry->fd = fd;
  entry->events = events;
  entry->callback = std::move(callback);
  epoll_event event{};
  event.events = to_epoll(events);
  event.data.ptr = entry.get();
  entry->registered = epoll_ctl(impl_->epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  if (!entry->registered) {
    // Out of memory or of fs.epoll.max_user_watches is not our bug: to the owner the descriptor looks broken.
    TM_CHECK(errno == ENOMEM || errno == ENOSPC, "only an open socket, pipe or the like can be watched, and once");
    post([entry] {
      if (!entry->cancelled) entry->callback(kHangup);
    });
  }
  return FdWatch(std::move(entry));
}

FdWatch EventLoop::watch_signals(std::initializer_list<int> signals, std::function<void(int)> callback) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  Fd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  TM_CHECK(fd, "a signalfd is made at the start, when descriptors are free");
  // One signal an event: the callback may destroy the watch, and the descriptor stays readable while there are more.
  auto watch = this->watch(fd.get(), kReadable, [number = fd.get(), callback = std::move(callback)](std::uint32_t) {
    signalfd_siginfo info{};
    if (read(number, &info, sizeof info) == sizeof info) callback(static_cast<int>(info.ssi_signo));
  });
  watch.entry_->owned = std::move(fd);
  return watch;
}

void EventLoop::post(std::function<void()> callback) {
  impl_->posted.push_back(std::move(callback));
}

void EventLoop::post_from_any_thread(std::function<void()> callback) {
  bool first = false;
  {
    const std::lock_guard lock(impl_->mutex);
    first = impl_->from_threads.empty();
    impl_->from_threads.push_back(std::move(callback));
    // Under the lock: a loop that ends because of this very callback must not be gone when the descriptor is written.
    const std::uint64_t one = 1;
    if (first) (void)!write(impl_->wake.get(), &one, sizeof one);
  }
}

void EventLoop::Sleep::await_suspend(std::coroutine_handle<> handle) {
  waiter_.suspend(handle);
  timer_ = loop_.after(delay_, [this] { waiter_.wake(loop_); });
}

}  // namespace tidemark::net
