// Takes away what belongs to deleted things: dependents by their owner references (background, foreground, orphan),
// what is in a namespace that is being deleted, the objects of a deleted definition. Level-triggered: each pass looks
// at the state.
//
// Only an owner that is deleted here takes its dependents along. One that never existed here is left alone, so that
// objects out of another cluster stay; a real garbage collector would take them. What waits is known again after a
// start: the store's log has the owners that went before their dependents (Store::is_gone).
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "kube/memory/registry.h"
#include "kube/memory/store.h"
#include "kube/memory/turn.h"
#include "net/loop.h"

namespace tidemark::kube::memory {

class Collector {
 public:
  Collector(net::EventLoop& loop, base::Log log, Registry& registry);

  // Called for each committed change.
  void changed(int kind, const Change& change);
  // After a start: whatever was left half-way.
  void resume();

 private:
  using Place = std::pair<int, std::string>;
  net::Task<void> run();
  Answer<void> look_at(const Place& place);
  Answer<void> release_dependent(const Place& place);
  Answer<void> finish_foreground(const KindPtr& kind, const ObjectPtr& owner, Json tree);
  Answer<void> orphan_dependents(const KindPtr& kind, const ObjectPtr& owner, Json tree);
  Answer<void> empty_namespace(const KindPtr& kind, const ObjectPtr& ns);
  Answer<void> empty_definition(const KindPtr& kind, const ObjectPtr& crd);
  Answer<void> drop_finalizer(const KindPtr& kind, const ObjectPtr& object, std::string_view finalizer);
  void wake(std::set<Place>& set, Place place);
  void wake_owners_let_go(const Object& before, const Object& now);
  // The definitions of the same group that lack a name.
  void wake_definitions(const Object& changed);
  // After each of many writes for one place: true when the others' turn has come, and the place is looked at again.
  bool leave_rest(const Place& place, const Object& written);
  // Notes a write that the present pass relies on.
  void await(Store::TicketPtr write);
  // Looks at the place again when one of the writes is refused by the log.
  net::Task<void> see_through(bool dependent, Place place, std::vector<Store::TicketPtr> writes);

  net::EventLoop& loop_;
  base::Log log_;
  Registry& registry_;
  Store& store_;
  const int definitions_;                 // the kind
  std::set<Place> waiting_;               // objects on their way out, and definitions without all of their names
  std::set<Place> dependents_;            // objects that lost an owner
  std::vector<Store::TicketPtr> writes_;  // of the present pass
  Turn turn_;
  bool turn_is_over_ = false;
  net::Event work_;
  net::Scope scope_;
};

}  // namespace tidemark::kube::memory
