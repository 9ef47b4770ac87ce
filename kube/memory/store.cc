#include "kube/memory/store.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

// Records of one transaction: large enough to share one disk flush, small enough not to make the first writer wait.
constexpr std::size_t kBatchMax = 512;

std::string overlay_key(int kind, std::string_view key) {
  return cat(kind, " ", key);
}

std::int64_t signed_cost(const ObjectPtr& object) {
  return object == nullptr ? 0 : static_cast<std::int64_t>(object->cost());
}

}  // namespace

std::string_view to_string(ChangeType type) {
  switch (type) {
    case ChangeType::kAdded:
      return "ADDED";
    case ChangeType::kModified:
      return "MODIFIED";
    case ChangeType::kDeleted:
      return "DELETED";
  }
  return "";
}

namespace {

// An object that was made before its definition named the field has no value for it.
const std::string& field_of(const Object& object, std::size_t field) {
  static const std::string none;
  return field < object.fields.size() ? object.fields[field] : none;
}

}  // namespace

bool Filter::matches(const Object& object) const {
  if (!ns.empty() && object.ns != ns) return false;
  if (!name.empty() && object.name != name) return false;
  for (const Term& term : terms) {
    const std::string& held = term.on == Term::On::kName        ? object.name
                              : term.on == Term::On::kNamespace ? object.ns
                                                                : field_of(object, term.field);
    if ((held == term.value) == term.negated) return false;
  }
  return labels.matches(object.labels);
}

std::size_t Change::cost() const {
  constexpr std::size_t kOverhead = 256;  // bytes of the line itself, its places in queues, and what frames the text
  return object->bytes->size() + std::max(object->cost(), before == nullptr ? 0 : before->cost()) + kOverhead;
}

Store::Store(net::EventLoop& loop, StoreConfig config) : loop_(loop), config_(std::move(config)), work_(loop) {
  if (config_.log) {
    scope_ = std::make_unique<net::Scope>(loop_);
    scope_->spawn(commit_loop());
  }
}

Store::~Store() {
  for (Watch* watch : all_watches_) watch->store_ = nullptr;
}

int Store::open(std::string_view storage) {
  const auto [at, made] = kind_numbers_.try_emplace(std::string(storage), static_cast<int>(kinds_.size()));
  if (made) {
    kinds_.emplace_back();
    kinds_.back().storage = storage;
    kinds_.back().ring.lost_through = committed_;
  }
  return at->second;
}

void Store::restore(int kind, ObjectPtr object) {
  const std::string key = object_key(object->ns, object->name);
  bytes_ += object->cost();
  index_object(kind, key, nullptr, object.get());
  kinds_[static_cast<std::size_t>(kind)].objects[key] = std::move(object);
}

void Store::restore_revision(std::int64_t revision) {
  committed_ = allocated_ = std::max(committed_, revision);
  for (KindState& kind : kinds_) kind.ring.lost_through = committed_;
  for (const std::string& uid : std::vector<std::string>(gone_.begin(), gone_.end())) settle_gone(uid);
}

void Store::remake(int kind, std::function<ObjectPtr(const Object&)> make) {
  KindState& state = kinds_[static_cast<std::size_t>(kind)];
  for (auto& [key, object] : state.objects) {
    bytes_ -= object->cost();
    object = make(*object);
    bytes_ += object->cost();
  }
  state.make = std::move(make);
  state.made_through = allocated_;
  history_bytes_ -= state.ring.bytes;
  state.ring = {.changes = {}, .bytes = 0, .lost_through = committed_};
  for (Watch* watch : all_watches_)
    if (watch->kind_ == kind) watch->overflow();
}

// A change as it is in the present form of its kind. What it replaces is the committed state, which has that form.
ChangePtr Store::remade(const KindState& kind, const std::string& key, const Change& change) {
  auto now = std::make_shared<Change>();
  now->type = change.type;
  now->revision = change.revision;
  now->object = change.revision <= kind.made_through ? kind.make(*change.object) : change.object;
  if (const auto held = kind.objects.find(key); held != kind.objects.end()) now->before = held->second;
  return now;
}

ObjectPtr Store::find(int kind, const std::string& key) const {
  const auto& held = kinds_[static_cast<std::size_t>(kind)].objects;
  const auto at = held.find(key);
  return at == held.end() ? nullptr : at->second;
}

std::size_t Store::size(int kind) const {
  return kinds_[static_cast<std::size_t>(kind)].objects.size();
}

const std::map<std::string, ObjectPtr>& Store::objects(int kind) const {
  return kinds_[static_cast<std::size_t>(kind)].objects;
}

ObjectPtr Store::latest(int kind, const std::string& key) const {
  if (!overlay_.empty()) {
    const auto at = overlay_.find(overlay_key(kind, key));
    if (at != overlay_.end()) return at->second.latest;
  }
  return find(kind, key);
}

std::vector<ObjectPtr> Store::latest_all(int kind) const {
  std::map<std::string, ObjectPtr> all = objects(kind);
  const std::string prefix = overlay_key(kind, "");
  for (const auto& [key, staged] : overlay_) {
    if (!key.starts_with(prefix)) continue;
    if (staged.latest == nullptr)
      all.erase(key.substr(prefix.size()));
    else
      all[key.substr(prefix.size())] = staged.latest;
  }
  std::vector<ObjectPtr> out;
  for (auto& [key, object] : all) out.push_back(std::move(object));
  return out;
}

Store::TicketPtr Store::pending(int kind, const std::string& key) const {
  const auto at = overlay_.find(overlay_key(kind, key));
  return at == overlay_.end() ? nullptr : at->second.ticket;
}

std::vector<std::pair<int, std::string>> Store::owned_by(const std::string& uid) const {
  const auto at = owned_.find(uid);
  return at == owned_.end() ? std::vector<std::pair<int, std::string>>() : at->second;
}

std::optional<std::pair<int, std::string>> Store::find_uid(const std::string& uid) const {
  const auto at = uids_.find(uid);
  return at == uids_.end() ? std::nullopt : std::optional(at->second);
}

Answer<Store::Page> Store::list(int kind, const Filter& filter, std::int64_t revision, std::string from,
                                std::size_t limit) const {
  const KindState& state = kinds_[static_cast<std::size_t>(kind)];
  Page page;
  page.revision = revision == 0 ? committed_ : revision;
  // Undo: the newest state of each key that changed since, walking back to the revision wanted.
  std::map<std::string, ObjectPtr> undone;
  if (page.revision < committed_) {
    if (page.revision < state.ring.lost_through)
      return refuse(expired("The resourceVersion for the provided list is too old."));
    for (auto at = state.ring.changes.rbegin(); at != state.ring.changes.rend() && (*at)->revision > page.revision;
         ++at)
      undone[object_key((*at)->object->ns, (*at)->object->name)] = (*at)->before;
  }
  if (from.empty() && !filter.ns.empty()) from = filter.ns + "/";
  auto current = state.objects.lower_bound(from);
  auto old = undone.lower_bound(from);
  const std::string prefix = filter.ns.empty() ? std::string() : filter.ns + "/";
  std::string last_key;
  const bool counts = filter.terms.empty() && filter.labels.empty();  // counting needs no look at the objects
  std::int64_t rest = 0;
  while (current != state.objects.end() || old != undone.end()) {
    const bool use_old = old != undone.end() && (current == state.objects.end() || old->first <= current->first);
    const std::string& key = use_old ? old->first : current->first;
    const ObjectPtr& object = use_old ? old->second : current->second;
    if (!prefix.empty() && !std::string_view(key).starts_with(prefix)) break;
    if (limit != 0 && page.items.size() == limit) {
      if (object != nullptr && (counts || filter.matches(*object))) {
        page.next_key = last_key + '\0';
        ++rest;
        if (!counts) return page;
      }
    } else if (object != nullptr && filter.matches(*object)) {
      page.items.push_back(object);
      last_key = key;
    }
    if (use_old) {
      if (current != state.objects.end() && current->first == old->first) ++current;
      ++old;
    } else {
      ++current;
    }
  }
  if (rest > 0) page.remaining = rest;
  return page;
}

Answer<Store::TicketPtr> Store::stage(int kind, const std::string& key, ObjectPtr before, ObjectPtr object,
                                      bool deleted) {
  TM_CHECK(object != nullptr && object->revision == next_revision(), "a staged object carries the next revision");
  const std::int64_t grows = (deleted ? 0 : signed_cost(object)) - signed_cost(before);
  if (grows > 0 &&
      static_cast<std::int64_t>(bytes_) + staged_bytes_ + grows > static_cast<std::int64_t>(config_.objects_bytes_max))
    return refuse(plain_error(507, "InsufficientStorage",
                              cat("the server's objects would take more than ", config_.objects_bytes_max,
                                  " bytes: delete some, or raise the limit")));
  if (queue_.size() + in_flight_ >= config_.staged_max) {
    ApiError error = plain_error(429, "TooManyRequests", "too many writes wait for the disk, please try again later");
    error.retry_after_s = 1;
    return refuse(std::move(error));
  }
  auto change = std::make_shared<Change>();
  change->type = deleted ? ChangeType::kDeleted : before == nullptr ? ChangeType::kAdded : ChangeType::kModified;
  change->revision = ++allocated_;
  change->object = object;
  change->before = std::move(before);
  Staged staged{kind, key, std::move(change), std::make_shared<Ticket>(loop_)};
  TicketPtr ticket = staged.ticket;
  if (!config_.log) {
    commit(staged);
    ticket->done.set();
    return ticket;
  }
  Overlay& overlay = overlay_[overlay_key(kind, key)];
  overlay.latest = deleted ? nullptr : std::move(object);
  overlay.ticket = ticket;
  ++overlay.pending;
  staged_bytes_ += grows;
  queue_.push_back(std::move(staged));
  work_.set();
  return ticket;
}

net::Task<Answer<void>> Store::durable(TicketPtr ticket) {
  co_await ticket->done.wait();
  if (ticket->error) co_return refuse(*ticket->error);
  co_return Answer<void>();
}

net::Task<void> Store::commit_loop() {
  for (;;) {
    co_await work_.wait();
    work_.clear();
    while (!queue_.empty()) {
      std::vector<Staged> batch;
      std::vector<LogRecord> records;
      std::vector<std::string> settling = std::exchange(settled_, {});
      for (const std::string& uid : settling) records.push_back({std::string(kGoneOwners), uid, 0, nullptr});
      std::unordered_set<std::string> named;  // owners of this batch's objects, which the index does not know yet
      std::vector<std::string> going;
      while (!queue_.empty() && batch.size() < kBatchMax) {
        Staged& staged = queue_.front();
        const bool deleted = staged.change->type == ChangeType::kDeleted;
        records.push_back({kinds_[static_cast<std::size_t>(staged.kind)].storage, staged.key, staged.change->revision,
                           deleted ? nullptr : staged.change->object->bytes});
        const Object& object = *staged.change->object;
        if (!deleted) {
          named.insert(object.owners.begin(), object.owners.end());
        } else if (owned_.contains(object.uid) || named.contains(object.uid)) {
          records.push_back({std::string(kGoneOwners), object.uid, staged.change->revision, net::make_buffer("{}")});
          going.push_back(object.uid);
        }
        batch.push_back(std::move(staged));
        queue_.pop_front();
      }
      in_flight_ = batch.size();
      const Result<void> written = co_await config_.log(std::move(records));
      in_flight_ = 0;
      if (written) {
        gone_.insert(going.begin(), going.end());
        for (const Staged& staged : batch) {
          const Change& change = *staged.change;
          staged_bytes_ -=
              (change.type == ChangeType::kDeleted ? 0 : signed_cost(change.object)) - signed_cost(change.before);
          const auto at = overlay_.find(overlay_key(staged.kind, staged.key));
          if (--at->second.pending == 0) overlay_.erase(at);
          commit(staged);
          staged.ticket->done.set();
        }
        for (const std::string& uid : going) settle_gone(uid);
        continue;
      }
      settled_.insert(settled_.end(), settling.begin(), settling.end());
      // What was staged later was built on what now failed: all of it goes, and memory is as the disk is.
      const bool full = written.error().kind == ErrorKind::kExhausted;
      const ApiError error = plain_error(full ? 507 : 500, full ? "InsufficientStorage" : "InternalError",
                                         cat("the write was not stored: ", written.error().message));
      while (!queue_.empty()) {
        batch.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
      overlay_.clear();
      staged_bytes_ = 0;
      for (const Staged& staged : batch) {
        staged.ticket->error = error;
        staged.ticket->done.set();
      }
    }
  }
}

void Store::commit(const Staged& staged) {
  KindState& kind = kinds_[static_cast<std::size_t>(staged.kind)];
  const ChangePtr change = kind.make ? remade(kind, staged.key, *staged.change) : staged.change;
  committed_ = change->revision;
  if (change->before != nullptr) bytes_ -= change->before->cost();
  if (change->type == ChangeType::kDeleted) {
    kind.objects.erase(staged.key);
    index_object(staged.kind, staged.key, change->before.get(), nullptr);
  } else {
    bytes_ += change->object->cost();
    kind.objects[staged.key] = change->object;
    index_object(staged.kind, staged.key, change->before.get(), change->object.get());
  }
  remember(kind, change);
  notify(kind, change);
  close_slowest();
  if (listener_) listener_(staged.kind, *change);
}

void Store::index_object(int kind, const std::string& key, const Object* before, const Object* after) {
  static const std::vector<std::string> none;
  // Most writes leave the owners alone, and the list of an owner with many dependents is long.
  const bool owners_change = before == nullptr || after == nullptr || before->owners != after->owners;
  if (before != nullptr) {
    for (const std::string& uid : owners_change ? before->owners : none) {
      const auto at = owned_.find(uid);
      if (at == owned_.end()) continue;
      std::erase(at->second, std::pair(kind, key));
      if (at->second.empty()) owned_.erase(at);
    }
    if (after == nullptr || after->uid != before->uid) uids_.erase(before->uid);
  }
  if (after != nullptr) {
    for (const std::string& uid : owners_change ? after->owners : none) owned_[uid].emplace_back(kind, key);
    if (before == nullptr || after->uid != before->uid) uids_[after->uid] = {kind, key};
  }
  if (before != nullptr && owners_change)
    for (const std::string& uid : before->owners) settle_gone(uid);
}

// Forgets a deleted owner that no object names any more: a later reference to it is to an unknown owner.
void Store::settle_gone(const std::string& uid) {
  if (!owned_.contains(uid) && gone_.erase(uid) != 0) settled_.push_back(uid);
}

void Store::remember(KindState& kind, ChangePtr change) {
  const std::size_t cost = change->cost();
  kind.ring.bytes += cost;
  history_bytes_ += cost;
  kind.ring.changes.push_back(std::move(change));
  while (history_bytes_ > config_.history_bytes_max) {
    // The kind with the most history loses its oldest line, so that a busy kind does not push out the quiet ones.
    const auto fullest = std::max_element(kinds_.begin(), kinds_.end(), [](const KindState& a, const KindState& b) {
      return a.ring.bytes < b.ring.bytes;
    });
    const std::size_t freed = fullest->ring.changes.front()->cost();
    fullest->ring.lost_through = fullest->ring.changes.front()->revision;
    fullest->ring.changes.pop_front();
    fullest->ring.bytes -= freed;
    history_bytes_ -= freed;
  }
}

void Store::notify(KindState& kind, const ChangePtr& change) {
  for (Watch* watch : kind.watchers) watch->offer(change);
  for (auto& [field, by_value] : kind.indexed) {
    const auto value_of = [&, index = field](const Object& object) -> const std::string& {
      return index < 0 ? object.name : field_of(object, static_cast<std::size_t>(index));
    };
    const auto offer_to = [&](const std::string& value) {
      const auto at = by_value.find(value);
      if (at == by_value.end()) return;
      for (Watch* watch : at->second) watch->offer(change);
    };
    const std::string& now = value_of(*change->object);
    offer_to(now);
    if (change->before != nullptr && value_of(*change->before) != now) offer_to(value_of(*change->before));
  }
}

Answer<std::unique_ptr<Watch>> Store::watch(int kind, Filter filter, std::int64_t revision, bool initial,
                                            std::vector<std::size_t> indexed_fields) {
  if (watchers_ >= config_.watchers_max) {
    ApiError error =
        plain_error(429, "TooManyRequests", cat("there are ", watchers_, " watches already, which is the limit"));
    error.retry_after_s = 1;
    return refuse(std::move(error));
  }
  KindState& state = kinds_[static_cast<std::size_t>(kind)];
  // Of another life of this server (in memory only, or with an older file): the reader must list again, or it would
  // keep for ever what is not there any more.
  if (revision > committed_)
    return refuse(expired(cat("too old resource version: ", revision, " is not known here, current: ", committed_)));
  if (revision >= 0 && !initial && revision < state.ring.lost_through)
    return refuse(expired(cat("too old resource version: ", revision, " (", state.ring.lost_through, ")")));
  auto watch = std::unique_ptr<Watch>(new Watch(*this, loop_));
  watch->kind_ = kind;
  watch->filter_ = std::move(filter);
  const Filter& wanted = watch->filter_;
  if (initial) {
    const auto first = wanted.ns.empty() ? state.objects.begin() : state.objects.lower_bound(wanted.ns + "/");
    for (auto at = first; at != state.objects.end(); ++at) {
      if (!wanted.ns.empty() && !std::string_view(at->first).starts_with(wanted.ns + "/")) break;
      if (wanted.matches(*at->second)) watch->initial_.push_back(at->second);
    }
  } else if (revision >= 0) {
    const auto from = std::upper_bound(state.ring.changes.begin(), state.ring.changes.end(), revision,
                                       [](std::int64_t r, const ChangePtr& change) { return r < change->revision; });
    for (auto at = from; at != state.ring.changes.end(); ++at) watch->offer(*at);
    // A reader who starts far back has not been slow: only the future counts.
    if (watch->overflowed_)
      return refuse(expired(cat("too old resource version: ", revision, " (too many changes since)")));
  }
  watch->index_ = -2;
  if (!wanted.name.empty()) {
    watch->index_ = -1;
    watch->index_value_ = wanted.name;
  }
  for (const Filter::Term& term : wanted.terms) {
    if (term.negated || watch->index_ == -1) continue;
    const bool by_name = term.on == Filter::Term::On::kName;
    const bool by_field = term.on == Filter::Term::On::kField &&
                          std::find(indexed_fields.begin(), indexed_fields.end(), term.field) != indexed_fields.end();
    if (!by_name && !by_field) continue;
    watch->index_ = by_name ? -1 : static_cast<int>(term.field);
    watch->index_value_ = term.value;
  }
  watch->listed_ = watch->index_ == -2 ? &state.watchers : &state.indexed[watch->index_][watch->index_value_];
  watch->at_ = watch->listed_->insert(watch->listed_->end(), watch.get());
  all_watches_.insert(watch.get());
  ++watchers_;
  return watch;
}

void Store::begin_waiting(const Change& change) {
  if (change.waiting++ == 0) waiting_bytes_ += change.cost();
}

void Store::end_waiting(const Change& change) {
  if (--change.waiting == 0) waiting_bytes_ -= change.cost();
}

// A slow watcher of one object keeps old states of it that are not needed elsewhere: thousands of slow watchers could
// keep thousands of times the limit of one.
void Store::close_slowest() {
  if (waiting_bytes_ <= config_.watch_queues_bytes_max) return;
  std::vector<std::pair<std::int64_t, Watch*>> by_age;  // by the revision of what they should have sent next
  for (Watch* watch : all_watches_)
    if (!watch->queue_.empty()) by_age.emplace_back(watch->queue_.front().change->revision, watch);
  std::sort(by_age.begin(), by_age.end());
  for (const auto& [revision, watch] : by_age) {
    if (waiting_bytes_ <= config_.watch_queues_bytes_max) return;
    watch->overflow();
  }
}

void Store::unlink(Watch& watch) {
  watch.clear_queue();
  if (watch.listed_ == nullptr) return;
  watch.listed_->erase(watch.at_);
  if (watch.index_ != -2 && watch.listed_->empty()) {
    auto& by_value = kinds_[static_cast<std::size_t>(watch.kind_)].indexed[watch.index_];
    by_value.erase(watch.index_value_);
  }
  all_watches_.erase(&watch);
  --watchers_;
}

Watch::~Watch() {
  if (store_ != nullptr) store_->unlink(*this);
}

void Watch::offer(const ChangePtr& change) {
  if (overflowed_) return;
  const bool deleted = change->type == ChangeType::kDeleted;
  const bool before = change->before != nullptr && filter_.matches(*change->before);
  const bool after = !deleted && filter_.matches(*change->object);
  if (!before && !after) return;
  const ChangeType seen = before && after ? ChangeType::kModified : after ? ChangeType::kAdded : ChangeType::kDeleted;
  if (queue_.size() >= store_->config_.watch_queue_max ||
      queued_bytes_ + change->cost() > store_->config_.watch_queue_bytes_max) {
    overflow();
    return;
  }
  queued_bytes_ += change->cost();
  store_->begin_waiting(*change);
  queue_.push_back({seen, change});
  ready_.set();
}

void Watch::overflow() {
  overflowed_ = true;
  clear_queue();  // lets go of what only this reader held
  ready_.set();
}

void Watch::clear_queue() {
  for (const Item& item : queue_) store_->end_waiting(*item.change);
  queue_.clear();
  queued_bytes_ = 0;
}

std::optional<Watch::Item> Watch::next() {
  if (queue_.empty()) {
    if (!overflowed_) ready_.clear();
    return std::nullopt;
  }
  Item item = std::move(queue_.front());
  queue_.pop_front();
  queued_bytes_ -= item.change->cost();
  if (store_ != nullptr) store_->end_waiting(*item.change);
  return item;
}

std::int64_t Watch::revision() const {
  return store_ == nullptr ? 0 : store_->committed_;
}

}  // namespace tidemark::kube::memory
