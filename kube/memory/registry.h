// The verbs of the API on one object at a time, from a decoded body to a staged write: decoding, defaults, admission,
// validation, generation and deletion rules. Lists and watches go to the Store directly; HTTP is server.h's.
//
// Every verb returns at once with the write staged; the caller waits for `ticket` before it answers.
//
// Metadata kept: all but managedFields and selfLink, which are dropped (there is no server-side apply).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "kube/memory/api_error.h"
#include "kube/memory/class_of_priority.h"
#include "kube/memory/kinds.h"
#include "kube/memory/object.h"
#include "kube/memory/store.h"
#include "kube/memory/validation.h"

namespace tidemark::kube::memory {

enum class FieldValidation : std::uint8_t { kIgnore, kWarn, kStrict };
enum class PatchKind : std::uint8_t { kJson, kMerge, kStrategic };

struct WriteRequest {
  bool dry_run = false;
  FieldValidation field_validation = FieldValidation::kWarn;
  std::vector<std::string> duplicates;  // members that the body had twice
};

struct DeleteRequest {
  bool dry_run = false;
  std::optional<std::int64_t> grace_s;
  std::string propagation;  // "", "Background", "Foreground", "Orphan"
  std::string uid;          // preconditions
  std::string resource_version;
};

struct Written {
  ObjectPtr object;
  bool created = false;
  bool removed = false;               // a delete that left nothing behind
  std::vector<std::string> warnings;  // dropped parts of the body, and missing controllers
  Store::TicketPtr ticket;            // null: nothing was written (dry run, no change)
};

// An object that a request names. Views: for the time of the call.
struct WriteTarget {
  const KindPtr& kind;
  std::string_view version;
  std::string_view ns;
  std::string_view name;
  std::string_view subresource = {};
};

class Registry {
 public:
  // `acted_on`: writers of such a kind get no warning.
  Registry(net::EventLoop& loop, Store& store, base::Random random, const std::vector<std::string>& acted_on = {});

  KindTable& kinds() { return kinds_; }
  const KindTable& kinds() const { return kinds_; }
  Store& store() { return store_; }
  net::EventLoop& loop() { return loop_; }

  Answer<Written> create(const KindPtr& kind, std::string_view version, std::string_view ns, Json body,
                         const WriteRequest& request);
  Answer<Written> update(const WriteTarget& target, Json body, const WriteRequest& request);
  Answer<Written> patch(const WriteTarget& target, PatchKind how, const Json& patch, const WriteRequest& request);
  Answer<Written> remove(const KindPtr& kind, std::string_view ns, std::string_view name, const DeleteRequest& request);
  // POST pods/x/binding and pods/x/eviction; the body is a Binding or an Eviction.
  Answer<Written> bind(std::string_view ns, std::string_view name, const Json& body, const WriteRequest& request);
  Answer<Written> evict(std::string_view ns, std::string_view name, const Json& body, DeleteRequest request);

  // What the next write builds on; 404 where there is none.
  Answer<ObjectPtr> current(const Kind& kind, std::string_view ns, std::string_view name) const;
  // A write of the server itself: `tree` is in stored form and passes no checks.
  Answer<Written> put_internal(const KindPtr& kind, const ObjectPtr& before, Json tree);
  Answer<Written> erase_internal(const KindPtr& kind, const ObjectPtr& before);

  // Keeps the table of kinds in step with a stored CustomResourceDefinition: an established one is served. `anyway`:
  // one with objects, regardless of its status.
  void apply_crd(const Object& crd, bool anyway = false);
  void forget_crd(const Object& crd);
  // The other definitions of its group, those on their way to the log included.
  std::vector<Json> definitions_beside(const Json& crd) const;
  // Once more for a definition whose names were in use.
  Answer<Written> accept_names_again(const ObjectPtr& crd);
  KindPtr kind_of_storage(int storage_id) const;
  // Built-in namespaces and priority classes, where they are missing.
  void make_initial_objects(const std::vector<ClassOfPriority>& more);

 private:
  Answer<std::vector<std::string>> decode(const Kind& kind, std::string_view version, Json& tree,
                                          const WriteRequest& request);
  Answer<void> check_head(const Kind& kind, std::string_view version, const Json& tree) const;
  Answer<void> check_namespace(const Kind& kind, std::string_view ns, std::string_view name) const;
  Answer<void> admit(const Kind& kind, Json& tree);
  Answer<void> admit_pod(Json& tree);
  void prepare_create(const Kind& kind, Json& tree) const;
  enum class Size : std::uint8_t { kAny, kLimited };  // what a client sends has a limit
  Answer<Written> write(const KindPtr& kind, const ObjectPtr& before, Json tree, bool dry_run, bool deleted = false,
                        Size size = Size::kAny);
  Answer<Written> update_tree(const KindPtr& kind, std::string_view version, const ObjectPtr& before, Json tree,
                              std::string_view subresource, const WriteRequest& request);
  Answer<void> mark_disrupted(const KindPtr& pods, const ObjectPtr& pod);
  Answer<void> check_budget(const Object& pod, const Json& tree, bool dry_run);
  std::string now_text() const;
  std::string make_uid();
  std::string name_suffix();

  net::EventLoop& loop_;
  Store& store_;
  base::Random random_;
  KindTable kinds_;
};

}  // namespace tidemark::kube::memory
