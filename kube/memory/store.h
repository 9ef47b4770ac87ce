// Revisioned objects, their recent history, and those who watch it.
//
// Two views: what is committed (reads, lists, watches), and what the next write builds on (committed plus staged). A
// write is staged at once and becomes visible when the log has it; when the log refuses, all staged writes fail and
// nothing changed.
//
//   stage ──▶ queue ──group commit──▶ log ──▶ committed map, history ring, watchers, the writer's answer
//
// The history ring of each kind is the watch cache: watches start in it, and pages of a list are made consistent by
// undoing it. All kinds share one sequence of revisions and one budget of history bytes. One loop owns it all.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "kube/memory/api_error.h"
#include "kube/memory/object.h"
#include "kube/memory/selector.h"
#include "net/loop.h"

namespace tidemark::kube::memory {

enum class ChangeType : std::uint8_t { kAdded, kModified, kDeleted };
std::string_view to_string(ChangeType);

// One line of history. `object` of a deletion is the last state with the revision of the deletion.
struct Change {
  ChangeType type = ChangeType::kAdded;
  std::int64_t revision = 0;
  ObjectPtr object;
  ObjectPtr before;  // null for kAdded
  // Bytes it may hold alone: the text that watchers get, and the larger one of two states. The other is the present
  // one, or what the next or the last change of the same object holds.
  std::size_t cost() const;
  // What a watcher of whole objects gets, made once and shared by all of them; counted in cost(). Tables and the like
  // are made for each, so that a line of history never holds more than this.
  mutable std::string text_version;
  mutable net::Buffer text;
  mutable std::uint32_t waiting = 0;  // watchers in whose queue it is
};
using ChangePtr = std::shared_ptr<const Change>;

struct Filter {
  std::string ns;    // "" is all
  std::string name;  // "" is all: metadata.name of the field selector, or the path
  LabelSelector labels;
  struct Term {
    enum class On : std::uint8_t { kName, kNamespace, kField } on = On::kField;
    std::size_t field = 0;  // row of Kind::fields
    std::string value;
    bool negated = false;
  };
  std::vector<Term> terms;
  bool matches(const Object& object) const;
};

struct LogRecord {
  std::string storage;
  std::string key;
  std::int64_t revision = 0;
  net::Buffer body;  // null: deleted
};

struct StoreConfig {
  std::size_t objects_bytes_max = 1024ULL * 1024 * 1024;
  std::size_t history_bytes_max = 64 * 1024 * 1024;
  std::size_t watchers_max = 20'000;
  std::size_t watch_queue_max = 4096;                    // changes waiting for one watcher
  std::size_t watch_queue_bytes_max = 16 * 1024 * 1024;  // and their bytes
  // Bytes in all of those queues, each change counted once. Above it the slowest watcher is closed.
  std::size_t watch_queues_bytes_max = 64 * 1024 * 1024;
  std::size_t staged_max = 20'000;  // writes waiting for the log
  // Makes a batch durable; absent: memory only. Called for one batch at a time.
  std::function<net::Task<Result<void>>(std::vector<LogRecord>)> log;
};

class Store;

// A place in the stream of changes of one kind. Destroying it ends the watch.
class Watch {
 public:
  struct Item {
    ChangeType type;  // as this watcher sees it: an object that begins to match is added
    ChangePtr change;
  };
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // What comes before the changes: the state at the start, where it was asked for. Moved out once.
  const std::vector<ObjectPtr>& initial() const { return initial_; }
  std::vector<ObjectPtr> take_initial() { return std::move(initial_); }
  std::optional<Item> next();
  // True when the reader was too slow and lost changes: nothing follows but an error.
  bool overflowed() const { return overflowed_; }
  // The newest revision that the reader has seen everything up to, once next() answers nothing.
  std::int64_t revision() const;
  net::Task<bool> wait_for(base::Duration limit) { return ready_.wait_for(limit); }

 private:
  friend class Store;
  Watch(Store& store, net::EventLoop& loop) : store_(&store), ready_(loop) {}
  void offer(const ChangePtr& change);
  void overflow();
  void clear_queue();

  Store* store_;  // null when the store is gone
  int kind_ = 0;
  Filter filter_;
  std::list<Watch*>* listed_ = nullptr;
  std::list<Watch*>::iterator at_;
  std::string index_value_;
  int index_ = -1;
  std::vector<ObjectPtr> initial_;
  std::deque<Item> queue_;
  std::size_t queued_bytes_ = 0;
  bool overflowed_ = false;
  net::Event ready_;
};

class Store {
 public:
  // Where the log keeps the uids of deleted owners whose dependents are still to go: no kind, so nothing is served of
  // it.
  static constexpr std::string_view kGoneOwners = "gone owners";

  Store(net::EventLoop& loop, StoreConfig config);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // The number of a kind of objects, made on first use.
  int open(std::string_view storage);
  int kinds() const { return static_cast<int>(kinds_.size()); }
  // Before the first write: what the log had.
  void restore(int kind, ObjectPtr object);
  void restore_gone(std::string uid) { gone_.insert(std::move(uid)); }
  void restore_revision(std::int64_t revision);  // the last of them
  // What the server looks at in objects of this kind is another now: they are made anew, and the history that knows
  // the old form is dropped with the watches that rely on it.
  void remake(int kind, std::function<ObjectPtr(const Object&)> make);

  // Committed state.
  ObjectPtr find(int kind, const std::string& key) const;
  std::int64_t revision() const { return committed_; }
  std::size_t size(int kind) const;
  std::size_t bytes() const { return bytes_; }
  const std::map<std::string, ObjectPtr>& objects(int kind) const;
  // Objects whose ownerReferences name this uid.
  std::vector<std::pair<int, std::string>> owned_by(const std::string& uid) const;
  // Where the object with this uid lies, if it is there.
  std::optional<std::pair<int, std::string>> find_uid(const std::string& uid) const;
  // Whether an owner with this uid was deleted here while it had dependents that have not all gone or let go of it
  // since. Kept with the log, in the transaction of the deletion; not known in memory only.
  bool is_gone(const std::string& uid) const { return gone_.contains(uid); }

  struct Page {
    std::vector<ObjectPtr> items;
    std::int64_t revision = 0;
    std::string next_key;         // "" at the end: the key to start at
    std::int64_t remaining = -1;  // how many more there are, when known
  };
  // `revision` 0: now. An older one is rebuilt from history, or 410. `from` is where the page before said, or empty.
  Answer<Page> list(int kind, const Filter& filter, std::int64_t revision, std::string from, std::size_t limit) const;

  // What the next write builds on.
  ObjectPtr latest(int kind, const std::string& key) const;
  std::vector<ObjectPtr> latest_all(int kind) const;  // goes through all that is staged: for what is seldom asked
  std::int64_t next_revision() const { return allocated_ + 1; }

  // A staged write: done when durable and visible, or refused. Keep it and co_await durable(ticket).
  struct Ticket {
    explicit Ticket(net::EventLoop& loop) : done(loop) {}
    net::Event done;
    std::optional<ApiError> error;
  };
  using TicketPtr = std::shared_ptr<Ticket>;
  // `object` carries next_revision(); null `before` is an add, `deleted` a removal of `before`. 507 or 429 where it
  // does not fit.
  Answer<TicketPtr> stage(int kind, const std::string& key, ObjectPtr before, ObjectPtr object, bool deleted = false);
  static net::Task<Answer<void>> durable(TicketPtr ticket);
  // Of the last write of this key that is not durable yet; null where there is none. Who answers with what latest()
  // says waits for it.
  TicketPtr pending(int kind, const std::string& key) const;

  // `revision` < 0: only what comes from now on. `initial`: the present objects first. 410 when history does not reach
  // back.
  Answer<std::unique_ptr<Watch>> watch(int kind, Filter filter, std::int64_t revision, bool initial,
                                       std::vector<std::size_t> indexed_fields = {});
  std::size_t watchers() const { return watchers_; }
  std::size_t history_bytes() const { return history_bytes_; }
  std::size_t watch_queues_bytes() const { return waiting_bytes_; }

  // Called for each committed change, after watchers. For the collector.
  void on_commit(std::function<void(int kind, const Change&)> listener) { listener_ = std::move(listener); }

 private:
  friend class Watch;
  struct Ring {
    std::deque<ChangePtr> changes;
    std::size_t bytes = 0;
    std::int64_t lost_through = 0;  // changes up to this revision may be missing
  };
  struct KindState {
    std::string storage;
    std::map<std::string, ObjectPtr> objects;
    Ring ring;
    std::list<Watch*> watchers;
    // Watchers that want one value of one field, by that field (−1 stands for the name) and value.
    std::map<int, std::unordered_map<std::string, std::list<Watch*>>> indexed;
    // Set by remake(): writes up to that revision were staged in the old form.
    std::function<ObjectPtr(const Object&)> make;
    std::int64_t made_through = 0;
  };
  struct Staged {
    int kind = 0;
    std::string key;
    ChangePtr change;
    TicketPtr ticket;
  };
  struct Overlay {
    ObjectPtr latest;  // null: deleted
    TicketPtr ticket;  // of the last write
    int pending = 0;
  };

  void commit(const Staged& staged);
  static ChangePtr remade(const KindState& kind, const std::string& key, const Change& change);
  void notify(KindState& kind, const ChangePtr& change);
  void remember(KindState& kind, ChangePtr change);
  void index_object(int kind, const std::string& key, const Object* before, const Object* after);
  void settle_gone(const std::string& uid);
  void unlink(Watch& watch);
  void begin_waiting(const Change& change);
  void end_waiting(const Change& change);
  void close_slowest();
  net::Task<void> commit_loop();

  net::EventLoop& loop_;
  StoreConfig config_;
  std::deque<KindState> kinds_;
  std::unordered_map<std::string, int> kind_numbers_;
  std::unordered_map<std::string, Overlay> overlay_;  // by kind number and key
  std::deque<Staged> queue_;
  std::size_t in_flight_ = 0;
  net::Event work_;
  std::int64_t committed_ = 1;
  std::int64_t allocated_ = 1;
  std::size_t bytes_ = 0;
  std::int64_t staged_bytes_ = 0;  // what the staged writes will add
  std::size_t history_bytes_ = 0;
  std::size_t waiting_bytes_ = 0;  // of changes in watchers' queues
  std::size_t watchers_ = 0;
  std::unordered_set<Watch*> all_watches_;
  std::unordered_map<std::string, std::vector<std::pair<int, std::string>>> owned_;
  std::unordered_map<std::string, std::pair<int, std::string>> uids_;
  std::unordered_set<std::string> gone_;
  std::vector<std::string> settled_;  // uids that the next batch takes off the log's list of gone ones
  std::function<void(int, const Change&)> listener_;
  std::unique_ptr<net::Scope> scope_;
};

}  // namespace tidemark::kube::memory
