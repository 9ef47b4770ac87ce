#include "kube/recorder.h"

#include <deque>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>

#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "kube/resource.h"

namespace tidemark::kube {
namespace {

constexpr base::Duration kAlikeWindow = std::chrono::minutes(10);  // the same event again raises its count so long
constexpr int kMessagesAlikeMax = 10;           // different messages of one reason, then they are folded
constexpr std::size_t kRememberedMax = 4096;    // events, and objects with a budget
constexpr std::size_t kMessageBytesMax = 1024;  // the API server's own limits
constexpr std::size_t kReasonBytesMax = 128;
constexpr base::Duration kSendLimit = std::chrono::seconds(10);

std::string cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  std::size_t end = bytes_max - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return base::cat(text.substr(0, end), "...");
}

}  // namespace

struct EventRecorder::Impl {
  struct Sent {
    std::string key;
    std::string name;  // of the Event object; empty until it was created
    std::string ns;
    std::int64_t count = 0;
    base::MonotonicTime last_seen;
  };
  struct Pending {
    ObjectReference about;
    EventSeverity severity;
    std::string reason;
    std::string message;
    std::string key;
    base::WallTime when;
    std::int64_t count = 1;
  };
  struct Reasons {
    base::MonotonicTime since;
    int messages = 0;
  };

  Impl(net::EventLoop& event_loop, Writer& api_writer, base::Log logger, base::Registry& metrics, std::string who)
      : loop(event_loop),
        writer(api_writer),
        log(std::move(logger)),
        component(std::move(who)),
        pending_event(event_loop),
        sent_total(metrics.counter("tidemark_events_sent_total", "Kubernetes events written.")),
        dropped_total(metrics.counter("tidemark_events_dropped_total",
                                      "Kubernetes events not written: over a budget, or refused by the server.")) {}

  // Everything that is kept, keys included, is made of the cut texts: what differs only behind the cut is the same
  // event.
  void record(const ObjectReference& about, EventSeverity severity, std::string_view full_reason,
              std::string_view full_message) {
    const std::string reason = cut(full_reason, kReasonBytesMax);
    std::string text = cut(full_message, kMessageBytesMax);
    const base::MonotonicTime now = loop.clock().monotonic();
    const std::string object = base::cat(about.kind, "/", about.ns, "/", about.name, "/", about.uid);
    if (pending.size() >= kQueueMax || !budget_of(object).try_take(now)) {
      dropped_total.add();
      return;
    }
    std::string key = base::cat(object, "\n", reason, "\n", text);
    if (auto same = pending_by_key.find(key); same != pending_by_key.end()) {
      ++same->second->count;
      same->second->when = loop.clock().wall();
      return;
    }
    if (find_recent(key, now) == remembered.end() && too_many_alike(base::cat(object, "\n", reason), now)) {
      key = base::cat(object, "\n", reason, "\n(combined)");
      text = cut(base::cat("(combined from similar events) ", text), kMessageBytesMax);
    }
    if (auto folded = pending_by_key.find(key); folded != pending_by_key.end()) {
      ++folded->second->count;
      folded->second->message = std::move(text);
      return;
    }
    pending.push_back({about, severity, reason, std::move(text), key, loop.clock().wall(), 1});
    pending_by_key[std::move(key)] = &pending.back();
    pending_event.set();
  }

  base::TokenBucket& budget_of(const std::string& object) {
    if (auto at = budgets.find(object); at != budgets.end()) return at->second;
    if (budgets.size() >= kRememberedMax) budgets.clear();  // bounded; at worst each object gets a fresh budget
    const double per_second = 1.0 / std::chrono::duration<double>(kRefill).count();
    return budgets.emplace(object, base::TokenBucket(per_second, kBurstAnObject)).first->second;
  }

  bool too_many_alike(const std::string& key, base::MonotonicTime now) {
    if (reasons.size() >= kRememberedMax) reasons.clear();
    auto& alike = reasons[key];
    if (alike.messages == 0 || now - alike.since > kAlikeWindow) alike = {now, 0};
    return ++alike.messages > kMessagesAlikeMax;
  }

  std::list<Sent>::iterator find_recent(const std::string& key, base::MonotonicTime now) {
    auto at = by_key.find(key);
    if (at == by_key.end()) return remembered.end();
    if (now - at->second->last_seen > kAlikeWindow) {
      remembered.erase(at->second);
      by_key.erase(at);
      return remembered.end();
    }
    return at->second;
  }

  net::Task<void> run() {
    while (true) {
      while (pending.empty()) {
        pending_event.clear();
        co_await pending_event.wait();
      }
      const Pending next = std::move(pending.front());
      pending_by_key.erase(next.key);
      pending.pop_front();
      auto done = co_await send(next);
      if (done) {
        sent_total.add();
      } else {
        dropped_total.add();
        log.warn("cannot write event", {{"about", next.about.name}, {"reason", next.reason}, {"error", done.error()}});
      }
    }
  }

  net::Task<Result<void>> send(const Pending& event) {
    const base::MonotonicTime now = loop.clock().monotonic();
    auto known = find_recent(event.key, now);
    if (known != remembered.end()) {
      known->count += event.count;
      known->last_seen = now;
      auto patched = co_await patch_count(*known, event);
      if (patched || patched.error().kind != ErrorKind::kNotFound) {
        if (patched) co_return Result<void>();
        co_return std::unexpected(std::move(patched).error());
      }
      forget(event.key);  // the server let it expire: write it anew
    }
    co_return co_await create(event, now);
  }

  net::Task<Result<std::string>> patch_count(const Sent& known, const Pending& event) {
    std::string body;
    base::JsonWriter json(body);
    json.begin_object();
    json.member("count", known.count);
    json.member("lastTimestamp", std::string_view(base::format_rfc3339(event.when)));
    json.member("message", std::string_view(event.message));
    json.end_object();
    WriteOptions options;
    options.ns = known.ns;
    co_return co_await writer.patch(kEvents, known.name, PatchType::kMerge, std::move(body), options, kSendLimit);
  }

  net::Task<Result<void>> create(const Pending& event, base::MonotonicTime now) {
    Sent sent;
    sent.key = event.key;
    sent.ns = event.about.ns.empty() ? "default" : event.about.ns;
    sent.name = base::cat(event.about.name, ".", hex(static_cast<std::uint64_t>(event.when.since_epoch.count())),
                          hex(++serial));
    sent.count = event.count;
    sent.last_seen = now;
    WriteOptions options;
    options.ns = sent.ns;
    auto created = co_await writer.create(kEvents, event_body(sent, event), options, "", kSendLimit);
    if (!created) co_return std::unexpected(std::move(created).error());
    remember(std::move(sent));
    co_return Result<void>();
  }

  std::string event_body(const Sent& sent, const Pending& event) const {
    const std::string when = base::format_rfc3339(event.when);
    std::string body;
    base::JsonWriter json(body);
    json.begin_object();
    json.member("apiVersion", "v1").member("kind", "Event");
    json.key("metadata").begin_object();
    json.member("name", std::string_view(sent.name)).member("namespace", std::string_view(sent.ns));
    json.end_object();
    json.key("involvedObject").begin_object();
    json.member("apiVersion", std::string_view(event.about.api_version));
    json.member("kind", std::string_view(event.about.kind));
    if (!event.about.ns.empty()) json.member("namespace", std::string_view(event.about.ns));
    json.member("name", std::string_view(event.about.name));
    json.member("uid", std::string_view(event.about.uid));
    json.end_object();
    json.member("type", event.severity == EventSeverity::kNormal ? "Normal" : "Warning");
    json.member("reason", std::string_view(event.reason)).member("message", std::string_view(event.message));
    json.member("count", sent.count);
    json.member("firstTimestamp", std::string_view(when)).member("lastTimestamp", std::string_view(when));
    json.key("source").begin_object().member("component", std::string_view(component)).end_object();
    json.member("reportingComponent", std::string_view(component));
    json.end_object();
    return body;
  }

  void remember(Sent sent) {
    if (remembered.size() >= kRememberedMax) forget(std::string(remembered.front().key));
    remembered.push_back(std::move(sent));
    by_key[remembered.back().key] = std::prev(remembered.end());
  }

  void forget(const std::string& key) {
    auto at = by_key.find(key);
    if (at == by_key.end()) return;
    remembered.erase(at->second);
    by_key.erase(at);
  }

  static std::string hex(std::uint64_t value) {
    char digits[17];
    return std::string(digits, std::to_chars(digits, digits + sizeof digits, value, 16).ptr);
  }

  net::EventLoop& loop;
  Writer& writer;
  base::Log log;
  std::string component;
  std::deque<Pending> pending;
  std::unordered_map<std::string, Pending*> pending_by_key;  // a deque does not move what it holds
  net::Event pending_event;
  std::list<Sent> remembered;  // oldest first
  std::unordered_map<std::string, std::list<Sent>::iterator> by_key;
  std::unordered_map<std::string, base::TokenBucket> budgets;
  std::unordered_map<std::string, Reasons> reasons;
  std::uint64_t serial = 0;
  base::Counter& sent_total;
  base::Counter& dropped_total;
};

EventRecorder::EventRecorder(net::EventLoop& loop, Writer& writer, base::Log log, base::Registry& metrics,
                             std::string component)
    : impl_(std::make_unique<Impl>(loop, writer, std::move(log), metrics, std::move(component))) {}

EventRecorder::~EventRecorder() = default;

void EventRecorder::record(const ObjectReference& about, EventSeverity severity, std::string_view reason,
                           std::string_view message) {
  impl_->record(about, severity, reason, message);
}

net::Task<void> EventRecorder::run() {
  return impl_->run();
}

}  // namespace tidemark::kube
