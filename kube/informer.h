// A cache that follows one kind of object: a paginated list, then a watch with bookmarks, for ever. One loop owns it.
//
//   list ──▶ watch from its revision ──▶ proper end: watch again from the last revision (no list)
//     ▲            │ broken: again, after a backoff with jitter (no herd when the server comes back)
//     └── 410 ◀────┘ the revision is too old: list, and replace what is held by what the server has
//
// It holds projections of type T, not objects, under a budget in bytes (objects, their places in the store, and the
// keys and entries of the indexes; the texts that objects share are their interner's, which has a budget of its own).
// bytes() never passes it: a new object that finds no room is not taken, and one that grew beyond it keeps its last
// version. The informer says so (log, metrics, over_budget()) until a list has gone through with room for everything,
// and lists again when its watch ends. New objects leave kGrowthShare of the budget to those that are held, which may
// use all of it. What was synced stays readable while the server is away; last_contact() tells how old the view may be.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/intern.h"
#include "kube/silence.h"
#include "net/loop.h"

namespace tidemark::kube {

struct ObjectKey {
  std::string ns;  // "" for cluster-scoped kinds
  std::string name;
  auto operator<=>(const ObjectKey&) const = default;
};

std::string to_string(const ObjectKey&);  // "ns/name" or "name"

struct InformerConfig {
  Resource resource;
  std::string name;  // the component in its metrics; "": the kind's plural. Its own among those of one registry
  std::string ns;
  std::string label_selector;
  std::string field_selector;
  int page_size = 500;
  bool read_ahead = false;  // as ListOptions
  std::size_t bytes_max = 256 * 1024 * 1024;
  static constexpr std::size_t kGrowthShare = 16;  // one part in so many
  base::Duration list_limit = std::chrono::minutes(2);
  base::Duration backoff_initial = std::chrono::milliseconds(500);
  base::Duration backoff_max = std::chrono::seconds(30);
  // A kind that the server may not know (404), or not show us (403): then it counts as synced with nothing in it, and
  // is asked for again each backoff_max.
  bool may_be_absent = false;

  std::string_view metrics_name() const { return name.empty() ? std::string_view(resource.plural) : name; }
};

// The parts of the process that an informer uses. They outlive it; `random` and `log` are its own.
struct InformerParts {
  net::EventLoop& loop;
  Reader& reader;
  Watcher& watcher;
  base::Log log;
  base::Registry& metrics;
  base::Random random;
};

// What the machinery below needs to know of an object, read from the object itself, so that it is not held twice.
struct ObjectView {
  std::string_view ns;
  std::string_view name;
  std::string_view resource_version;
};
using ViewObject = ObjectView (*)(const void* object);

using ObjectHolder = std::unique_ptr<const void, void (*)(const void*)>;

struct Decoded {
  ObjectHolder object;    // the T; not null
  std::size_t bytes = 0;  // what the projection costs
  bool wanted = true;     // else it is not held, as if it were not there
};

// The part that does not depend on T: protocol, retries, budget.
class InformerCore {
 public:
  using Decode = std::function<Result<Decoded>(std::string_view object_bytes)>;
  // before/after: null if the object is new / deleted.
  using OnChange = std::function<void(const ObjectKey&, const void* before, const void* after)>;

  InformerCore(InformerParts parts, InformerConfig config, Decode decode, ViewObject view);
  ~InformerCore();

  // What is held beside the objects, by those who subscribed.
  struct Beside {
    std::function<std::size_t()> bytes;
    // At most what comes on top when `after` is taken in place of `before` (null: there was none).
    std::function<std::size_t(const void* before, const void* after)> growth;
  };

  void subscribe(OnChange on_change);
  void count_also(Beside beside);  // toward the budget; before run()
  net::Task<void> run();
  bool synced() const;  // the first list is in
  net::Task<bool> wait_synced(base::Duration limit);
  // Why the last list failed; nullopt if it went through, or none has ended yet.
  const std::optional<Error>& list_failure() const;
  bool over_budget() const;  // something is missing, or older than it should be, for want of room
  std::size_t bytes() const;
  std::size_t size() const;
  base::MonotonicTime last_contact() const;
  // When the server answered again, last time, after a list or a watch had failed. nullopt: none ever failed.
  std::optional<base::MonotonicTime> back_since() const;
  // How long the server has not answered for this kind, since the last answer.
  Unheard unheard() const;
  std::string_view resource_version() const;
  const void* find(const ObjectKey&) const;
  void for_each(const std::function<void(const ObjectKey&, const void*)>&) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

template <class T>
class Informer {
 public:
  // `decode` builds the projection from one object's bytes. `T` has bytes() and `meta` with ns, name and
  // resource_version (kube/objects.h, or less than that).
  using Decode = std::function<Result<T>(std::string_view object_bytes)>;
  using OnChange = std::function<void(const ObjectKey&, const T* before, const T* after)>;
  // The index keys of an object: for example the node a pod is on.
  using IndexOf = std::function<std::vector<std::string>(const T&)>;

  Informer(InformerParts parts, InformerConfig config, Decode decode)
      : core_(
            std::move(parts), std::move(config),
            [this, decode = std::move(decode)](std::string_view bytes) -> Result<Decoded> {
              auto object = decode(bytes);
              if (!object) return std::unexpected(std::move(object).error());
              TM_CHECK(object->bytes() >= sizeof(T), "a projection counts itself");
              // The block that it lies in is a little larger.
              const std::size_t cost = object->bytes() - sizeof(T) + allocated_bytes(sizeof(T));
              const bool wanted = wanted_ == nullptr || wanted_(*object);
              return Decoded{ObjectHolder(new T(std::move(*object)), destroy), cost, wanted};
            },
            view) {
    core_.subscribe([this](const ObjectKey& key, const void* before, const void* after) {
      const T* old_object = static_cast<const T*>(before);
      const T* new_object = static_cast<const T*>(after);
      for (auto& index : indexes_) index.change(old_object, new_object);
      for (auto& listener : listeners_) listener(key, old_object, new_object);
    });
    core_.count_also({[this] {
                        std::size_t total = 0;
                        for (const auto& index : indexes_) total += index.total();
                        return total;
                      },
                      [this](const void* before, const void* after) {
                        std::size_t total = 0;
                        for (const auto& index : indexes_) {
                          total += index.growth(static_cast<const T*>(before), static_cast<const T*>(after));
                        }
                        return total;
                      }});
  }

  // All before run().
  // Only these are held; the others cost their decoding alone. One that is no longer wanted goes, as if it were
  // deleted.
  void hold_only(std::function<bool(const T&)> wanted) { wanted_ = std::move(wanted); }
  void subscribe(OnChange on_change) { listeners_.push_back(std::move(on_change)); }
  void add_index(std::string name, IndexOf index_of) {
    indexes_.push_back({std::move(name), std::move(index_of), {}, 0});
  }

  net::Task<void> run() { return core_.run(); }
  bool synced() const { return core_.synced(); }
  net::Task<bool> wait_synced(base::Duration limit) { return core_.wait_synced(limit); }
  InformerCore& core() { return core_; }
  const InformerCore& core() const { return core_; }

  // Pointers are valid until the loop runs again.
  const T* find(const ObjectKey& key) const { return static_cast<const T*>(core_.find(key)); }
  void for_each(const std::function<void(const ObjectKey&, const T&)>& visit) const {
    core_.for_each([&](const ObjectKey& key, const void* object) { visit(key, *static_cast<const T*>(object)); });
  }
  // Sorted by key, so that what is computed from it does not depend on arrival order.
  std::span<const T* const> by_index(std::string_view index_name, std::string_view value) const {
    for (const auto& index : indexes_) {
      if (index.name != index_name) continue;
      if (auto at = index.objects.find(value); at != index.objects.end()) return at->second;
    }
    return {};
  }

 private:
  static ObjectView view(const void* object) {
    const T& held = *static_cast<const T*>(object);
    return {held.meta.ns, held.meta.name, held.meta.resource_version};
  }
  static void destroy(const void* object) { delete static_cast<const T*>(object); }

  struct Index {
    struct Hash {
      using is_transparent = void;
      std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    using Objects = std::vector<const T*>;

    std::string name;
    IndexOf index_of;
    using Map = std::unordered_map<std::string, Objects, Hash, std::equal_to<>>;
    Map objects;
    std::size_t bytes = 0;  // of the entries

    // A node of the map has a link and the hash beside its value.
    static constexpr std::size_t kNodeBytes = sizeof(typename Map::value_type) + 2 * sizeof(void*);
    static std::size_t cost(const typename Map::value_type& entry) {
      return allocated_bytes(kNodeBytes) + string_bytes(entry.first) +
             allocated_bytes(entry.second.capacity() * sizeof(const T*));
    }
    std::size_t total() const { return bytes + allocated_bytes(objects.bucket_count() * sizeof(void*)); }

    // At most what change() would add to total().
    std::size_t growth(const T* before, const T* after) const {
      std::size_t sum = 0, added = 0;
      const auto held = before == nullptr ? std::vector<std::string>() : index_of(*before);
      for (const auto& value : index_of(*after)) {
        if (std::ranges::find(held, value) != held.end()) continue;
        const auto at = objects.find(value);
        if (at == objects.end()) {
          ++added;
          sum += allocated_bytes(kNodeBytes) + string_bytes(value) + allocated_bytes(sizeof(const T*));
        } else if (const Objects& there = at->second; there.size() == there.capacity()) {
          sum +=
              allocated_bytes(2 * there.size() * sizeof(const T*)) - allocated_bytes(there.size() * sizeof(const T*));
        }
      }
      return sum + (added == 0 ? 0 : table_growth(objects, added));
    }

    static typename Objects::iterator place_of(Objects& sorted, const T* object) {
      return std::lower_bound(sorted.begin(), sorted.end(), object, [](const T* a, const T* b) {
        const ObjectView x = view(a), y = view(b);
        return std::tie(x.ns, x.name) < std::tie(y.ns, y.name);
      });
    }

    void change(const T* before, const T* after) {
      if (before != nullptr) {
        for (const auto& value : index_of(*before)) {
          auto at = objects.find(value);
          if (at == objects.end()) continue;
          auto place = place_of(at->second, before);
          if (place == at->second.end() || *place != before) continue;
          at->second.erase(place);
          if (at->second.empty()) {
            bytes -= cost(*at);
            objects.erase(at);
          }
        }
      }
      if (after != nullptr) {
        for (const auto& value : index_of(*after)) {
          const auto [at, added] = objects.try_emplace(value);
          const std::size_t before_it = added ? 0 : cost(*at);
          Objects& sorted = at->second;
          const auto place = place_of(sorted, after);
          if (place == sorted.end() || *place != after) sorted.insert(place, after);  // a value may be named twice
          bytes += cost(*at) - before_it;
        }
      }
    }
  };

  std::function<bool(const T&)> wanted_;  // null: all
  std::vector<Index> indexes_;
  std::vector<OnChange> listeners_;
  InformerCore core_;
};

}  // namespace tidemark::kube
