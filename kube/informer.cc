#include "kube/informer.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "kube/decode.h"

namespace tidemark::kube {
namespace {

// A watch that ends properly sooner than this without an event is treated like a failure, so that a server (or
// something in between) that closes at once is not asked again in a tight loop.
constexpr base::Duration kWatchTooShort = std::chrono::seconds(1);

}  // namespace

std::string to_string(const ObjectKey& key) {
  return key.ns.empty() ? key.name : base::cat(key.ns, "/", key.name);
}

namespace {

std::size_t hash_of(std::string_view ns, std::string_view name) {
  const std::hash<std::string_view> hash;
  const std::size_t mixed = hash(name);
  return hash(ns) ^ (mixed + 0x9e3779b97f4a7c15u + (mixed << 6) + (mixed >> 2));
}

ObjectKey key_of(const ObjectView& object) {
  return {std::string(object.ns), std::string(object.name)};
}

}  // namespace

struct InformerCore::Impl {
  // Lies in a set under the key that its object names, which is the only thing that must not change.
  struct Held {
    mutable ObjectHolder object;
    mutable std::uint32_t bytes = 0;
    mutable std::uint32_t pass = 0;  // the list that saw it last
  };
  struct Keyed {
    using is_transparent = void;
    ViewObject view;
    ObjectView key(const ObjectKey& key) const { return {key.ns, key.name, {}}; }
    ObjectView key(const ObjectView& object) const { return object; }
    ObjectView key(const Held& held) const { return view(held.object.get()); }
    template <class Key>
    std::size_t operator()(const Key& of) const {
      const ObjectView found = key(of);
      return hash_of(found.ns, found.name);
    }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      const ObjectView x = key(a), y = key(b);
      return x.name == y.name && x.ns == y.ns;
    }
  };

  Impl(InformerParts parts, InformerConfig settings, Decode decoder, ViewObject view_object)
      : loop(parts.loop),
        reader(parts.reader),
        watcher(parts.watcher),
        log(std::move(parts.log)),
        config(std::move(settings)),
        decode(std::move(decoder)),
        view(view_object),
        backoff({config.backoff_initial, config.backoff_max, 2.0, 0.5}, parts.random.fork()),
        relists({config.backoff_initial, config.backoff_max, 2.0, 0.5}, parts.random),
        first_list(parts.loop),
        objects(0, Keyed{view_object}, Keyed{view_object}),
        objects_gauge(
            parts.metrics.gauge("tidemark_informer_objects", "Objects held.", {{"component", config.metrics_name()}})),
        bytes_gauge(parts.metrics.gauge("tidemark_informer_bytes",
                                        "Bytes of the projections held, with their store and indexes.",
                                        {{"component", config.metrics_name()}})),
        lists(parts.metrics.counter("tidemark_informer_lists_total", "Lists begun.",
                                    {{"component", config.metrics_name()}})),
        events(parts.metrics.counter("tidemark_informer_events_total", "Watch events taken in.",
                                     {{"component", config.metrics_name()}})),
        refused(parts.metrics.counter("tidemark_informer_refused_total",
                                      "Objects, or versions of them, not taken: unreadable, or over the budget.",
                                      {{"component", config.metrics_name()}})),
        over_budget_gauge(
            parts.metrics.gauge("tidemark_informer_over_budget",
                                "1 while objects are missing or older than they should be for want of room.",
                                {{"component", config.metrics_name()}})) {}

  net::Task<void> run() {
    bool list_needed = true;
    while (true) {
      const bool just_listed = list_needed;
      if (list_needed) {
        auto listed = co_await list_all();
        if (!listed && is_absent(listed.error())) {
          if (!first_list.is_set()) {
            log.info("this kind is not served; going on without it",
                     {{"kind", config.resource.kind}, {"error", listed.error()}});
          }
          first_list.set();
          co_await loop.sleep(config.backoff_max);
          continue;
        }
        if (!listed) {
          log.warn("list failed; the cache stays unchanged",
                   {{"kind", config.resource.kind}, {"error", listed.error()}});
          list_failure = listed.error();
          co_await pause(listed.error());
          continue;
        }
        list_needed = false;
        list_failure.reset();
      }
      const base::MonotonicTime started = loop.clock().monotonic();
      const std::uint64_t events_before = events.value();
      auto watched = co_await watch_once();
      // An idle watch earns a fresh start by lasting; a list does not: it may go well while every watch fails.
      if (loop.clock().monotonic() - started > config.backoff_max) backoff.reset();
      if (watched) {
        const bool idle = events.value() == events_before;
        if (idle && loop.clock().monotonic() - started < kWatchTooShort) co_await loop.sleep(backoff.next());
        list_needed = over_budget;  // what was refused may fit by now
        continue;
      }
      if (watched.error().kind == ErrorKind::kGone) {
        log.info("the watch's revision is too old; listing again",
                 {{"kind", config.resource.kind}, {"resource_version", resource_version}});
        list_needed = true;
        // The revision that a list has just given cannot be too old, unless the history is shorter than a round trip,
        // something in between answers 410 to everything, or this watch is too slow for its changes: listing at once
        // would never end. Events in between are no reason to be quicker the next time, as they are for `backoff`.
        if (!just_listed || loop.clock().monotonic() - started > config.backoff_max) {
          relists.reset();
        } else {
          co_await loop.sleep(relists.next());
        }
        continue;
      }
      log.warn("watch broke", {{"kind", config.resource.kind}, {"error", watched.error()}});
      // An event that cannot be taken in comes again from the same revision: only a list leads past it.
      const bool too_large = watched.error().kind == ErrorKind::kExhausted && watched.error().code == 0;
      list_needed = watched.error().kind == ErrorKind::kInvalid || too_large;
      // A watch that never ends properly must not keep us from looking whether there is room by now.
      if (over_budget && loop.clock().monotonic() - started > config.backoff_max) list_needed = true;
      co_await pause(watched.error());
    }
  }

  bool is_absent(const Error& error) const {
    // Not 401: that is about us, not about the kind.
    const bool told = error.kind == ErrorKind::kNotFound || (error.kind == ErrorKind::kDenied && error.code == 403);
    return config.may_be_absent && told && objects.empty();
  }

  void end_of_silence() {
    heard = loop.clock().monotonic();
    silence.ends(heard);
  }

  net::Task<void> pause(Error error) {
    away = true;
    if (is_silence(error)) {
      silence.begins(std::max(heard, loop.clock().monotonic() + -kNoticedWithin));
    } else {
      end_of_silence();
    }
    // Added to the Retry-After of the server, because all of its clients get the same one.
    const base::Duration asked = std::chrono::milliseconds(error.retry_after_ms);
    co_await loop.sleep(asked + backoff.next());
  }

  // Objects go into the cache page by page; what this pass did not see is gone at its end. So a relist of a large cache
  // holds one page more than the cache, not a second cache.
  net::Task<Result<void>> list_all() {
    lists.add();
    ++pass;
    ListOptions options;
    options.ns = config.ns;
    options.label_selector = config.label_selector;
    options.field_selector = config.field_selector;
    options.page_size = config.page_size;
    options.read_ahead = config.read_ahead;
    pass_over_budget = false;
    auto revision = co_await reader.list(
        config.resource, std::move(options), [this](std::string_view page) { return take_page(page); },
        [this] {
          ++pass;
          pass_over_budget = false;
        },
        config.list_limit);
    if (!revision) co_return std::unexpected(std::move(revision).error());
    remove_unseen();
    set_over_budget(pass_over_budget);  // not before: until the end of a list what was missing still is
    resource_version = std::move(*revision);
    contact();
    first_list.set();
    co_return Result<void>();
  }

  Result<void> take_page(std::string_view page) {
    contact();
    auto walked = decode_list(page, [this](std::string_view item) -> Result<void> {
      put(item);
      return {};
    });
    if (!walked) return std::unexpected(std::move(walked).error());
    return {};
  }

  void remove_unseen() {
    std::vector<ObjectKey> unseen;
    for (const Held& held : objects) {
      if (held.pass != pass) unseen.push_back(key_of(view(held.object.get())));
    }
    for (const auto& key : unseen) remove({key.ns, key.name, {}});
  }

  net::Task<Result<void>> watch_once() {
    WatchOptions options;
    options.ns = config.ns;
    options.label_selector = config.label_selector;
    options.field_selector = config.field_selector;
    options.resource_version = resource_version;
    TM_CO_TRY(auto stream, co_await watcher.watch(config.resource, std::move(options)));
    contact();
    while (true) {
      TM_CO_TRY(auto event, co_await stream->next());
      if (!event) co_return Result<void>();
      TM_CO_TRY_VOID(take_event(*event));
      backoff.reset();
    }
  }

  Result<void> take_event(const WatchEvent& event) {
    if (event.type == EventType::kAdded || event.type == EventType::kModified) {
      events.add();
      if (auto decoded = decode(event.object)) {
        std::string revision(view(decoded->object.get()).resource_version);
        if (revision.empty()) return without_revision();
        keep(std::move(*decoded));
        resource_version = std::move(revision);
        contact();
        return {};
      } else {
        refuse_unreadable(event.object, decoded.error());
      }
    }
    TM_TRY(auto identity, read_identity(event.object));
    if (identity.resource_version.empty()) return without_revision();
    if (event.type == EventType::kDeleted) {
      events.add();
      remove({identity.ns, identity.name, {}});
    }
    resource_version = std::move(identity.resource_version);
    contact();
    return {};
  }

  std::unexpected<Error> without_revision() const {
    return fail(ErrorKind::kInvalid, "a watch event of ", config.resource.kind, " carries no resourceVersion");
  }

  void put(std::string_view bytes_of_object) {
    if (auto decoded = decode(bytes_of_object)) {
      keep(std::move(*decoded));
    } else {
      refuse_unreadable(bytes_of_object, decoded.error());
    }
  }

  // One unreadable object must not stop the rest; the last version of it that could be read stays.
  void refuse_unreadable(std::string_view bytes_of_object, const Error& error) {
    refused.add();
    log.error("cannot decode object; its last good version stays", {{"error", error}});
    auto identity = read_identity(bytes_of_object);
    if (!identity) return;
    const auto at = objects.find(ObjectKey{identity->ns, identity->name});
    if (at != objects.end()) at->pass = pass;
  }

  void keep(Decoded decoded) {
    const ObjectView now = view(decoded.object.get());
    if (!decoded.wanted) return remove(now);
    const auto cost =
        static_cast<std::uint32_t>(std::min<std::size_t>(decoded.bytes, std::numeric_limits<std::uint32_t>::max()));
    const auto at = objects.find(now);
    if (at == objects.end()) {
      const std::size_t room = config.bytes_max - config.bytes_max / InformerConfig::kGrowthShare;
      if (!fits(cost + kPlaceBytes + table_growth(objects), 0, nullptr, decoded.object.get(), room)) {
        return refuse("new objects are not taken", key_of(now));
      }
      bytes += cost;
      const auto added = objects.insert(Held{std::move(decoded.object), cost, pass}).first;
      tell(key_of(now), nullptr, added->object.get());
      return;
    }
    at->pass = pass;
    if (view(at->object.get()).resource_version == now.resource_version) return;  // seen already: nothing changed
    if (!fits(cost, at->bytes, at->object.get(), decoded.object.get(), config.bytes_max)) {
      return refuse("an object that grew keeps its last version", key_of(now));
    }
    bytes += cost;
    bytes -= std::exchange(at->bytes, cost);
    const ObjectHolder before = std::exchange(at->object, std::move(decoded.object));
    tell(key_of(now), before.get(), at->object.get());
  }

  // What a place in the set costs beside the object: a node has a link and the hash.
  static constexpr std::size_t kPlaceBytes = (sizeof(Held) + 2 * sizeof(void*) + 8 + 15) / 16 * 16;

  std::size_t total() const {
    std::size_t sum = bytes + objects.size() * kPlaceBytes + allocated_bytes(objects.bucket_count() * sizeof(void*));
    for (const auto& more : counted_also) sum += more.bytes();
    return sum;
  }

  // Whether `after` may be held, which costs `more` itself, in place of `before`, which costs `less`.
  bool fits(std::size_t more, std::size_t less, const void* before, const void* after, std::size_t room) const {
    const std::size_t held = total();
    // What an object adds to the indexes is worked out only where it could matter.
    if (held + more <= room / 2) return true;
    for (const auto& each : counted_also) more += each.growth(before, after);
    return more <= less || held + more - less <= room;
  }

  void refuse(std::string_view what, const ObjectKey& key) {
    refused.add();
    pass_over_budget = true;
    set_over_budget(true);
    log.error(base::cat("cache budget reached; ", what), {{"kind", config.resource.kind},
                                                          {"object", to_string(key)},
                                                          {"bytes_max", config.bytes_max},
                                                          {"bytes", total()},
                                                          {"objects", objects.size()}});
  }

  void set_over_budget(bool over) {
    if (over_budget && !over) log.info("the cache has room for everything again", {{"kind", config.resource.kind}});
    over_budget = over;
    over_budget_gauge.set(over ? 1 : 0);
  }

  void remove(const ObjectView& object) {
    const auto at = objects.find(object);
    if (at == objects.end()) return;
    bytes -= at->bytes;
    const auto taken = objects.extract(at);  // keeps the object alive during the notification
    tell(key_of(view(taken.value().object.get())), taken.value().object.get(), nullptr);
  }

  void tell(const ObjectKey& key, const void* before, const void* after) {
    for (const auto& listener : listeners) listener(key, before, after);
    objects_gauge.set(static_cast<double>(objects.size()));
    bytes_gauge.set(static_cast<double>(total()));
  }

  void contact() {
    last_contact = loop.clock().monotonic();
    if (std::exchange(away, false)) back_since = last_contact;
    end_of_silence();
  }

  net::EventLoop& loop;
  Reader& reader;
  Watcher& watcher;
  base::Log log;
  InformerConfig config;
  Decode decode;
  ViewObject view;
  base::Backoff backoff;
  base::Backoff relists;  // between lists that a watch too old or too slow asks for
  net::Event first_list;
  std::unordered_set<Held, Keyed, Keyed> objects;
  std::vector<OnChange> listeners;
  std::vector<Beside> counted_also;
  std::string resource_version;
  std::uint32_t pass = 0;
  std::size_t bytes = 0;  // of the objects
  bool over_budget = false;
  std::optional<Error> list_failure;
  bool pass_over_budget = false;  // the list that goes on, or went on last, found no room for something
  base::MonotonicTime last_contact;
  bool away = false;  // the last list or watch failed
  std::optional<base::MonotonicTime> back_since;
  base::MonotonicTime heard;  // an event, or an answer
  Silence silence;
  base::Gauge& objects_gauge;
  base::Gauge& bytes_gauge;
  base::Counter& lists;
  base::Counter& events;
  base::Counter& refused;
  base::Gauge& over_budget_gauge;
};

InformerCore::InformerCore(InformerParts parts, InformerConfig config, Decode decode, ViewObject view)
    : impl_(std::make_unique<Impl>(std::move(parts), std::move(config), std::move(decode), view)) {}

InformerCore::~InformerCore() = default;

void InformerCore::subscribe(OnChange on_change) {
  impl_->listeners.push_back(std::move(on_change));
}
void InformerCore::count_also(Beside beside) {
  impl_->counted_also.push_back(std::move(beside));
}
net::Task<void> InformerCore::run() {
  return impl_->run();
}
bool InformerCore::synced() const {
  return impl_->first_list.is_set();
}
net::Task<bool> InformerCore::wait_synced(base::Duration limit) {
  return impl_->first_list.wait_for(limit);
}
bool InformerCore::over_budget() const {
  return impl_->over_budget;
}
std::size_t InformerCore::bytes() const {
  return impl_->total();
}
const std::optional<Error>& InformerCore::list_failure() const {
  return impl_->list_failure;
}
std::size_t InformerCore::size() const {
  return impl_->objects.size();
}
base::MonotonicTime InformerCore::last_contact() const {
  return impl_->last_contact;
}
std::optional<base::MonotonicTime> InformerCore::back_since() const {
  return impl_->back_since;
}
Unheard InformerCore::unheard() const {
  return impl_->silence.until(impl_->loop.clock().monotonic());
}
std::string_view InformerCore::resource_version() const {
  return impl_->resource_version;
}

const void* InformerCore::find(const ObjectKey& key) const {
  const auto at = impl_->objects.find(key);
  return at == impl_->objects.end() ? nullptr : at->object.get();
}

void InformerCore::for_each(const std::function<void(const ObjectKey&, const void*)>& visit) const {
  ObjectKey key;  // its texts keep their room: some caches are walked each second
  for (const Impl::Held& held : impl_->objects) {
    const ObjectView object = impl_->view(held.object.get());
    key.ns.assign(object.ns);
    key.name.assign(object.name);
    visit(key, held.object.get());
  }
}

}  // namespace tidemark::kube
