#include "kube/memory/collector.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "kube/memory/crd.h"

namespace tidemark::kube::memory {

namespace {

constexpr base::Duration kRetryAfter = std::chrono::seconds(1);

bool names_owner(const Json& reference, const std::string& uid) {
  return reference.text_at("uid") == uid;
}

}  // namespace

Collector::Collector(net::EventLoop& loop, base::Log log, Registry& registry)
    : loop_(loop),
      log_(std::move(log)),
      registry_(registry),
      store_(registry.store()),
      definitions_(registry.kinds().find_group("apiextensions.k8s.io", "customresourcedefinitions")->storage_id),
      work_(loop),
      scope_(loop) {
  scope_.spawn(run());
}

void Collector::wake(std::set<Place>& set, Place place) {
  set.insert(std::move(place));
  work_.set();
}

void Collector::changed(int kind, const Change& change) {
  const Object& object = *change.object;
  if (kind == definitions_) wake_definitions(object);  // a name may be free now
  if (change.type != ChangeType::kDeleted) {
    if (object.terminating) wake(waiting_, {kind, object_key(object.ns, object.name)});
    if (change.before != nullptr) wake_owners_let_go(*change.before, object);
    return;
  }
  for (Place& place : store_.owned_by(object.uid)) wake(dependents_, std::move(place));
  // Objects that wait for this deletion.
  for (const std::string& uid : object.owners) {
    const auto owner = store_.find_uid(uid);
    if (!owner) continue;
    const ObjectPtr held = store_.find(owner->first, owner->second);
    if (held != nullptr && held->terminating) wake(waiting_, *owner);
  }
  if (!object.ns.empty()) {
    const int namespaces = registry_.kinds().find_group("", "namespaces")->storage_id;
    const ObjectPtr ns = store_.find(namespaces, object.ns);
    if (ns != nullptr && ns->terminating) wake(waiting_, {namespaces, object.ns});
  }
  const KindPtr of = registry_.kind_of_storage(kind);
  if (of != nullptr && of->custom) {
    const ObjectPtr crd = store_.find(definitions_, of->resource_text());
    if (crd != nullptr && crd->terminating) wake(waiting_, {definitions_, crd->name});
  }
}

// A foreground deletion may have waited for this one alone.
void Collector::wake_owners_let_go(const Object& before, const Object& now) {
  std::optional<bool> let_go;
  for (const std::string& uid : before.owners) {
    const auto owner = store_.find_uid(uid);
    const ObjectPtr held = owner ? store_.find(owner->first, owner->second) : nullptr;
    if (held == nullptr || !held->terminating) continue;
    if (!let_go) {
      const Json was = before.json();
      const Json is = now.json();
      const Json* left = is.at("metadata", "ownerReferences");
      let_go = left == nullptr || *left != *was.at("metadata", "ownerReferences");
    }
    if (*let_go) wake(waiting_, *owner);
  }
}

void Collector::wake_definitions(const Object& changed) {
  const std::string group = changed.name.substr(std::min(changed.name.size(), changed.name.find('.')));
  for (const auto& [name, other] : store_.objects(definitions_))
    if (name != changed.name && name.ends_with(group) && !condition_holds(other->json(), "NamesAccepted"))
      wake(waiting_, {definitions_, name});
}

bool Collector::leave_rest(const Place& place, const Object& written) {
  if (!turn_.is_over(written.bytes->size())) return false;
  turn_is_over_ = true;
  wake(waiting_, place);
  return true;
}

void Collector::resume() {
  for (int kind = 0; kind < store_.kinds(); ++kind)
    for (const auto& [key, object] : store_.objects(kind))
      if (object->terminating || (kind == definitions_ && !condition_holds(object->json(), "NamesAccepted")))
        wake(waiting_, {kind, key});
      else if (std::any_of(object->owners.begin(), object->owners.end(),
                           [&](const std::string& uid) { return store_.is_gone(uid); }))
        wake(dependents_, {kind, key});
}

net::Task<void> Collector::see_through(bool dependent, Place place, std::vector<Store::TicketPtr> writes) {
  for (const Store::TicketPtr& write : writes) {
    const Answer<void> done = co_await Store::durable(write);
    if (done) continue;
    log_.warn("cannot collect dependents; retrying", {{"object", place.second}, {"why", done.error().message}});
    co_await loop_.sleep(kRetryAfter);
    wake(dependent ? dependents_ : waiting_, std::move(place));
    co_return;
  }
}

void Collector::await(Store::TicketPtr write) {
  if (write != nullptr && !write->done.is_set()) writes_.push_back(std::move(write));
}

net::Task<void> Collector::run() {
  for (;;) {
    co_await work_.wait();
    work_.clear();
    while (!waiting_.empty() || !dependents_.empty()) {
      if (turn_.is_over(0) || turn_is_over_) {
        turn_is_over_ = false;
        co_await loop_.sleep(base::Duration(0));
      }
      std::set<Place>& from = dependents_.empty() ? waiting_ : dependents_;
      const bool dependent = &from == &dependents_;
      const Place place = *from.begin();
      from.erase(from.begin());
      writes_.clear();
      const Answer<void> done = dependent ? release_dependent(place) : look_at(place);
      await(store_.pending(place.first, place.second));
      // The log may refuse a write staged here, or another write that this pass relied on.
      if (!writes_.empty()) scope_.spawn(see_through(dependent, place, std::exchange(writes_, {})));
      if (done || done.error().code == 404 || done.error().code == 409) continue;
      log_.warn("cannot collect dependents; retrying", {{"object", place.second}, {"why", done.error().message}});
      co_await loop_.sleep(kRetryAfter);
      wake(dependent ? dependents_ : waiting_, place);
    }
  }
}

Answer<void> Collector::look_at(const Place& place) {
  const KindPtr kind = registry_.kind_of_storage(place.first);
  const ObjectPtr object = store_.latest(place.first, place.second);
  if (kind == nullptr || object == nullptr) return {};
  if (!object->terminating) {
    if (kind->custom || kind->name != "CustomResourceDefinition") return {};
    TM_TRY(const Written written, registry_.accept_names_again(object));
    await(written.ticket);
    return {};
  }
  if (!kind->custom && kind->name == "Namespace") return empty_namespace(kind, object);
  Json tree = object->json();
  const auto held = finalizers(tree);
  const auto has = [&](std::string_view finalizer) {
    return std::find(held.begin(), held.end(), finalizer) != held.end();
  };
  if (has("orphan")) return orphan_dependents(kind, object, std::move(tree));
  if (has("foregroundDeletion")) return finish_foreground(kind, object, std::move(tree));
  if (has(kCrdCleanupFinalizer)) return empty_definition(kind, object);
  return {};
}

Answer<void> Collector::release_dependent(const Place& place) {
  const KindPtr kind = registry_.kind_of_storage(place.first);
  const ObjectPtr object = store_.latest(place.first, place.second);
  if (kind == nullptr || object == nullptr || object->owners.empty()) return {};  // let go since
  const bool owned = std::any_of(object->owners.begin(), object->owners.end(),
                                 [&](const std::string& uid) { return store_.find_uid(uid).has_value(); });
  if (!owned) {
    DeleteRequest request;
    request.propagation = "Background";
    request.uid = object->uid;
    TM_TRY(const Written written, registry_.remove(kind, object->ns, object->name, request));
    await(written.ticket);
    return {};
  }
  Json tree = object->json();
  Json* references = meta(tree).as_object().find("ownerReferences");
  std::erase_if(references->as_array(),
                [&](const Json& reference) { return !store_.find_uid(std::string(reference.text_at("uid"))); });
  TM_TRY(const Written written, registry_.put_internal(kind, object, std::move(tree)));
  await(written.ticket);
  return {};
}

Answer<void> Collector::drop_finalizer(const KindPtr& kind, const ObjectPtr& object, std::string_view finalizer) {
  Json tree = object->json();
  Json* list = meta(tree).as_object().find("finalizers");
  if (list != nullptr && list->is_array())
    std::erase_if(list->as_array(), [&](const Json& entry) { return entry.get_string() == finalizer; });
  drop_empty_meta(tree);
  // A pod with time left to stop goes when its node says so.
  const Json* grace = tree.at("metadata", "deletionGracePeriodSeconds");
  const bool last = finalizers(tree).empty() && (grace == nullptr || grace->get_int().value_or(0) <= 0);
  if (last) {
    TM_TRY(const Written written, registry_.erase_internal(kind, object));
    await(written.ticket);
  } else {
    TM_TRY(const Written written, registry_.put_internal(kind, object, std::move(tree)));
    await(written.ticket);
  }
  return {};
}

Answer<void> Collector::orphan_dependents(const KindPtr& kind, const ObjectPtr& owner, Json) {
  for (const Place& place : store_.owned_by(owner->uid)) {
    const KindPtr dependent_kind = registry_.kind_of_storage(place.first);
    const ObjectPtr dependent = store_.latest(place.first, place.second);
    await(store_.pending(place.first, place.second));
    if (dependent_kind == nullptr || dependent == nullptr) continue;
    // The index knows what is committed; a write on its way may have let go of this owner.
    if (std::find(dependent->owners.begin(), dependent->owners.end(), owner->uid) == dependent->owners.end()) continue;
    Json tree = dependent->json();
    Json* references = meta(tree).as_object().find("ownerReferences");
    std::erase_if(references->as_array(), [&](const Json& reference) { return names_owner(reference, owner->uid); });
    drop_empty_meta(tree);
    TM_TRY(const Written written, registry_.put_internal(dependent_kind, dependent, std::move(tree)));
    await(written.ticket);
    if (leave_rest({kind->storage_id, object_key(owner->ns, owner->name)}, *dependent)) return {};
  }
  return drop_finalizer(kind, owner, "orphan");
}

Answer<void> Collector::finish_foreground(const KindPtr& kind, const ObjectPtr& owner, Json) {
  bool blocked = false;
  for (const Place& place : store_.owned_by(owner->uid)) {
    const KindPtr dependent_kind = registry_.kind_of_storage(place.first);
    const ObjectPtr dependent = store_.latest(place.first, place.second);
    await(store_.pending(place.first, place.second));
    if (dependent_kind == nullptr || dependent == nullptr) continue;
    // The index knows what is committed; a write on its way may have let go of this owner.
    if (std::find(dependent->owners.begin(), dependent->owners.end(), owner->uid) == dependent->owners.end()) continue;
    if (dependent->terminating && blocked) continue;
    const Json tree = dependent->json();
    for (const Json& reference : tree.at("metadata", "ownerReferences")->as_array()) {
      const Json* blocks = reference.at("blockOwnerDeletion");
      if (names_owner(reference, owner->uid) && blocks != nullptr && blocks->get_bool().value_or(false)) blocked = true;
    }
    if (dependent->terminating) continue;
    DeleteRequest request;
    request.propagation = "Foreground";
    TM_TRY(const Written written, registry_.remove(dependent_kind, dependent->ns, dependent->name, request));
    await(written.ticket);
    if (leave_rest({kind->storage_id, object_key(owner->ns, owner->name)}, *dependent)) return {};
  }
  // A dependent's end is a change that brings this owner back here.
  return blocked ? Answer<void>() : drop_finalizer(kind, owner, "foregroundDeletion");
}

Answer<void> Collector::empty_namespace(const KindPtr& kind, const ObjectPtr& ns) {
  bool left = false;
  for (int storage = 0; storage < store_.kinds(); ++storage) {
    const KindPtr inner = registry_.kind_of_storage(storage);
    if (inner == nullptr || !inner->namespaced) continue;
    std::vector<ObjectPtr> found;
    const auto& objects = store_.objects(storage);
    for (auto at = objects.lower_bound(ns->name + "/"); at != objects.end() && at->first.starts_with(ns->name + "/");
         ++at)
      found.push_back(at->second);
    for (const ObjectPtr& committed : found) {
      left = true;
      const std::string key = object_key(committed->ns, committed->name);
      const ObjectPtr object = store_.latest(storage, key);
      await(store_.pending(storage, key));
      if (object == nullptr || object->terminating) continue;
      TM_TRY(const Written written, registry_.remove(inner, object->ns, object->name, {}));
      await(written.ticket);
      if (leave_rest({kind->storage_id, ns->name}, *object)) return {};
    }
  }
  // With memory only, what was deleted just now is gone already, and its end woke this namespace again.
  if (left) return {};
  Json tree = ns->json();
  if (!finalizers(tree).empty()) return {};
  TM_TRY(const Written written, registry_.erase_internal(kind, ns));
  await(written.ticket);
  return {};
}

Answer<void> Collector::empty_definition(const KindPtr& kind, const ObjectPtr& crd) {
  const Json tree = crd->json();
  const KindPtr custom =
      registry_.kinds().find_group(tree.text_at("spec", "group"), tree.text_at("spec", "names", "plural"));
  if (custom != nullptr && store_.size(custom->storage_id) != 0) {
    std::vector<ObjectPtr> found;
    for (const auto& [key, object] : store_.objects(custom->storage_id)) found.push_back(object);
    for (const ObjectPtr& committed : found) {
      const std::string key = object_key(committed->ns, committed->name);
      const ObjectPtr object = store_.latest(custom->storage_id, key);
      await(store_.pending(custom->storage_id, key));
      if (object == nullptr || object->terminating) continue;
      TM_TRY(const Written written, registry_.remove(custom, object->ns, object->name, {}));
      await(written.ticket);
      if (leave_rest({kind->storage_id, crd->name}, *object)) return {};
    }
    if (store_.size(custom->storage_id) != 0) return {};
  }
  return drop_finalizer(kind, crd, kCrdCleanupFinalizer);
}

}  // namespace tidemark::kube::memory
