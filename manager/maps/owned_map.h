// A ConfigMap that this manager writes, and its last known version. A write names the revision it was decided on, so
// that an outdated writer (a former leader, a person with an editor) cannot write an old state.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "manager/shared.h"
#include "net/loop.h"

namespace tidemark::manager {

// By key; nullopt takes the key away. What is not named stays as it is.
using MapChanges = std::map<std::string, std::optional<std::string>, std::less<>>;

struct MapWrite {
  std::string ns;
  std::string name;
  std::string revision;  // that it was decided on; "": creates the object
  MapChanges data;
  MapChanges annotations = {};
};

// kConflict or kAlreadyExists if another writer was faster. Returns the object of the server.
net::Task<Result<std::string>> write_map(kube::Writer& writer, MapWrite write, base::Duration limit,
                                         kube::WriteNote note = {});

class OwnedMap {
 public:
  using Decode = std::function<Result<kube::ConfigMap>(std::string_view)>;

  OwnedMap(std::string ns, std::string name, Decode decode, base::Duration limit)
      : ns_(std::move(ns)), name_(std::move(name)), decode_(std::move(decode)), limit_(limit) {}

  const std::string& name() const { return name_; }
  bool exists() const { return object_.has_value(); }
  kube::ObjectReference reference() const;

  // What the server has; null where it is not there. False: older than what is known already, nothing is taken.
  bool take(const kube::ConfigMap* map);
  // Reads it once; null where it is not there.
  net::Task<Result<std::optional<kube::ConfigMap>>> read(kube::Reader& reader);
  // As write_map(), over what is known. Takes, and answers, what is there then; null where a watch brought something
  // newer meanwhile. An error leaves what is known as it is.
  net::Task<Result<std::optional<kube::ConfigMap>>> write(kube::Writer& writer, MapChanges data,
                                                          MapChanges annotations = {});

 private:
  std::string ns_;
  std::string name_;
  Decode decode_;
  base::Duration limit_;
  struct Object {
    std::string uid;
    std::string resource_version;
  };
  std::optional<Object> object_;
};

// The same, followed by a watch.
class WatchedMap {
 public:
  struct Which {
    std::string ns;
    std::string_view name;
    std::string_view cache;  // in the metrics of the watch
    kube::KeyFilter keys;
    base::Duration write_limit;
  };
  // `on_take`: what is there now, null for nothing; of the watch and of our own writes. `on_change`: of the watch,
  // after that.
  WatchedMap(const Shared& shared, const Which& which, base::Random random,
             std::function<void(const kube::ConfigMap*)> on_take, std::function<void()> on_change);

  void start();  // until destroyed
  net::Task<bool> wait_synced(base::Duration limit) { return maps_.wait_synced(limit); }

  bool exists() const { return map_.exists(); }
  kube::ObjectReference reference() const { return map_.reference(); }
  net::Task<Result<void>> write(MapChanges data);

 private:
  kube::Writer& writer_;
  OwnedMap map_;
  kube::Informer<kube::ConfigMap> maps_;
  std::function<void(const kube::ConfigMap*)> on_take_;
  std::function<void()> on_change_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
