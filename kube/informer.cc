#include "kube/informer.h"

#include <algorithm>
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

std::size_t ObjectKeyHash::operator()(const ObjectKey& key) const {
  const std::size_t name = std::hash<std::string>()(key.name);
  return std::hash<std::string>()(key.ns) ^ (name + 0x9e3779b97f4a7c15u + (name << 6) + (name >> 2));
}

struct InformerCore::Impl {
  struct Held {
    std::shared_ptr<const void> object;
    std::string resource_version;
    std::size_t bytes = 0;
    std::uint64_t pass = 0;  // the list that saw it last
  };

  Impl(net::EventLoop& event_loop, Reader& api_reader, Watcher& api_watcher, base::Log logger, base::Registry& metrics,
       base::Random random, InformerConfig settings, Decode decoder)
      : loop(event_loop),
        reader(api_reader),
        watcher(api_watcher),
        log(std::move(logger)),
        config(std::move(settings)),
        decode(std::move(decoder)),
        backoff({config.backoff_initial, config.backoff_max, 2.0, 0.5}, random),
        first_list(event_loop),
        objects_gauge(
            metrics.gauge("tidemark_informer_objects", "Objects held.", {{"component", config.resource.plural}})),
        bytes_gauge(metrics.gauge("tidemark_informer_bytes", "Bytes of the projections held.",
                                  {{"component", config.resource.plural}})),
        lists(
            metrics.counter("tidemark_informer_lists_total", "Lists begun.", {{"component", config.resource.plural}})),
        watches(metrics.counter("tidemark_informer_watches_total", "Watches begun.",
                                {{"component", config.resource.plural}})),
        events(metrics.counter("tidemark_informer_events_total", "Watch events taken in.",
                               {{"component", config.resource.plural}})),
        refused(metrics.counter("tidemark_informer_refused_total", "Objects not taken: unreadable, or over the budget.",
                                {{"component", config.resource.plural}})) {}

  net::Task<void> run() {
    bool list_needed = true;
    while (true) {
      const bool just_listed = list_needed;
      if (list_needed) {
        auto listed = co_await list_all();
        if (!listed) {
          log.warn("list failed; what is held stays", {{"kind", config.resource.kind}, {"error", listed.error()}});
          co_await pause(listed.error());
          continue;
        }
        list_needed = false;
      }
      const base::MonotonicTime started = loop.clock().monotonic();
      const std::string revision_before = resource_version;
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
        // The revision that a list has just given cannot be too old, unless the history is shorter than a round trip
        // or something in between answers 410 to everything: listing at once would never end.
        if (just_listed && resource_version == revision_before) co_await pause(watched.error());
        continue;
      }
      log.warn("watch broke", {{"kind", config.resource.kind}, {"error", watched.error()}});
      // An event that cannot be taken in comes again from the same revision: only a list leads past it.
      const bool too_large = watched.error().kind == ErrorKind::kExhausted && watched.error().code == 0;
      list_needed = watched.error().kind == ErrorKind::kInvalid || too_large;
      co_await pause(watched.error());
    }
  }

  net::Task<void> pause(Error error) {
    const base::Duration asked = std::chrono::milliseconds(error.retry_after_ms);
    co_await loop.sleep(std::max(backoff.next(), asked));
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
    over_budget = false;
    auto revision = co_await reader.list(
        config.resource, std::move(options), [this](std::string_view page) { return take_page(page); },
        [this] { ++pass; }, config.list_limit);
    if (!revision) co_return std::unexpected(std::move(revision).error());
    remove_unseen();
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
    for (const auto& [key, held] : objects) {
      if (held.pass != pass) unseen.push_back(key);
    }
    for (const auto& key : unseen) remove(key);
  }

  net::Task<Result<void>> watch_once() {
    watches.add();
    WatchOptions options;
    options.ns = config.ns;
    options.label_selector = config.label_selector;
    options.field_selector = config.field_selector;
    options.resource_version = resource_version;
    TM_CO_TRY(auto stream, co_await watcher.watch(config.resource, std::move(options)));
    while (true) {
      TM_CO_TRY(auto event, co_await stream->next());
      if (!event) co_return Result<void>();
      TM_CO_TRY_VOID(take_event(*event));
      backoff.reset();
    }
  }

  Result<void> take_event(const WatchEvent& event) {
    TM_TRY(auto identity, read_identity(event.object));
    if (identity.resource_version.empty()) {
      return fail(ErrorKind::kInvalid, "a watch event of ", config.resource.kind, " carries no resourceVersion");
    }
    switch (event.type) {
      case EventType::kAdded:
      case EventType::kModified:
        events.add();
        put(event.object);
        break;
      case EventType::kDeleted:
        events.add();
        remove({std::move(identity.ns), std::move(identity.name)});
        break;
      case EventType::kBookmark:
        break;
    }
    resource_version = std::move(identity.resource_version);
    contact();
    return {};
  }

  // One unreadable object must not stop the rest; the last version of it that could be read stays.
  void put(std::string_view bytes_of_object) {
    auto decoded = decode(bytes_of_object);
    if (!decoded) {
      refused.add();
      log.error("object not understood; its last good version stays", {{"error", decoded.error()}});
      keep_unreadable(bytes_of_object);
      return;
    }
    auto at = objects.find(decoded->key);
    const std::size_t old_bytes = at == objects.end() ? 0 : at->second.bytes;
    if (at == objects.end() && bytes + decoded->bytes > config.bytes_max) {
      refused.add();
      over_budget = true;
      log.error("cache budget reached; new objects are not taken",
                {{"kind", config.resource.kind}, {"bytes_max", config.bytes_max}, {"objects", objects.size()}});
      return;
    }
    bytes = bytes - old_bytes + decoded->bytes;
    std::shared_ptr<const void> before;
    if (at == objects.end()) {
      at = objects.emplace(decoded->key, Held{}).first;
    } else {
      if (at->second.resource_version == decoded->resource_version) {
        at->second.pass = pass;
        bytes = bytes - decoded->bytes + old_bytes;
        return;  // seen already: nothing changed
      }
      before = std::move(at->second.object);
    }
    at->second = {std::move(decoded->object), std::move(decoded->resource_version), decoded->bytes, pass};
    tell(at->first, before.get(), at->second.object.get());
  }

  void keep_unreadable(std::string_view bytes_of_object) {
    auto identity = read_identity(bytes_of_object);
    if (!identity) return;
    auto at = objects.find({identity->ns, identity->name});
    if (at != objects.end()) at->second.pass = pass;
  }

  void remove(const ObjectKey& key) {
    auto at = objects.find(key);
    if (at == objects.end()) return;
    const std::shared_ptr<const void> before = std::move(at->second.object);
    bytes -= at->second.bytes;
    objects.erase(at);
    tell(key, before.get(), nullptr);
  }

  void tell(const ObjectKey& key, const void* before, const void* after) {
    objects_gauge.set(static_cast<double>(objects.size()));
    bytes_gauge.set(static_cast<double>(bytes));
    for (const auto& listener : listeners) listener(key, before, after);
  }

  void contact() { last_contact = loop.clock().monotonic(); }

  net::EventLoop& loop;
  Reader& reader;
  Watcher& watcher;
  base::Log log;
  InformerConfig config;
  Decode decode;
  base::Backoff backoff;
  net::Event first_list;
  std::unordered_map<ObjectKey, Held, ObjectKeyHash> objects;
  std::vector<OnChange> listeners;
  std::string resource_version;
  std::uint64_t pass = 0;
  std::size_t bytes = 0;
  bool over_budget = false;
  base::MonotonicTime last_contact;
  base::Gauge& objects_gauge;
  base::Gauge& bytes_gauge;
  base::Counter& lists;
  base::Counter& watches;
  base::Counter& events;
  base::Counter& refused;
};

InformerCore::InformerCore(net::EventLoop& loop, Reader& reader, Watcher& watcher, base::Log log,
                           base::Registry& metrics, base::Random random, InformerConfig config, Decode decode)
    : impl_(std::make_unique<Impl>(loop, reader, watcher, std::move(log), metrics, random, std::move(config),
                                   std::move(decode))) {}

InformerCore::~InformerCore() = default;

void InformerCore::subscribe(OnChange on_change) {
  impl_->listeners.push_back(std::move(on_change));
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
  return impl_->bytes;
}
std::size_t InformerCore::size() const {
  return impl_->objects.size();
}
base::MonotonicTime InformerCore::last_contact() const {
  return impl_->last_contact;
}
std::string_view InformerCore::resource_version() const {
  return impl_->resource_version;
}

const void* InformerCore::find(const ObjectKey& key) const {
  auto at = impl_->objects.find(key);
  return at == impl_->objects.end() ? nullptr : at->second.object.get();
}

void InformerCore::for_each(const std::function<void(const ObjectKey&, const void*)>& visit) const {
  for (const auto& [key, held] : impl_->objects) visit(key, held.object.get());
}

}  // namespace tidemark::kube
