// A Kubernetes API of one kind for tests of what stands on Reader, Watcher and Writer: it keeps objects and a revision
// like a server, and can be told to fail in the ways servers fail. Where the exact answers of a server matter, use
// kube/memory.
#pragma once

#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::kube::testing {

class ScriptedApi : public Reader, public Watcher, public Writer {
 public:
  explicit ScriptedApi(net::EventLoop& loop) : loop_(loop) {}

  // ---- what happens on the server ----

  void put(const std::string& name, Json spec) {
    const bool existed = objects_.contains(name);
    objects_[name] = render(name, std::move(spec));
    tell(existed ? EventType::kModified : EventType::kAdded, objects_[name]);
  }
  void remove_object(const std::string& name) {
    auto at = objects_.find(name);
    if (at == objects_.end()) return;
    Json object = *Json::parse(at->second);
    objects_.erase(at);
    object["metadata"]["resourceVersion"] = Json(base::cat(++revision_));
    tell(EventType::kDeleted, object.dump());
  }
  void bookmark() {
    ++revision_;
    for (auto* stream : streams_) {
      stream->give(
          {EventType::kBookmark, base::cat(R"({"kind":"Thing","metadata":{"resourceVersion":")", revision_, R"("}})")});
    }
  }
  // Bytes as an event's object that no server should send.
  void garble(const std::string& object) {
    for (auto* stream : streams_) stream->give({EventType::kModified, object});
  }
  // Changes that no watcher hears of: as if they happened while it was away.
  void forget_history() { history_.clear(), history_start_ = revision_; }
  void break_watches(Error error) {
    for (auto* stream : streams_) stream->end(error);
  }
  void end_watches() {
    for (auto* stream : streams_) stream->end(std::nullopt);
  }

  // ---- how it fails ----

  bool down = false;                // every call: kUnavailable
  bool takes_no_writes = false;     // each: kInternal
  int fail_lists = 0;               // so many lists fail
  std::optional<Error> list_error;  // every list
  base::Duration get_delay{};       // on its way to the server
  int restart_lists = 0;            // so many lists lose their continue token after the first page
  std::function<void()> before_second_page;

  // ---- what was asked of it ----

  int lists = 0;
  std::vector<std::string> watched_from;
  std::vector<std::string> written;
  std::vector<base::MonotonicTime> calls;

  std::size_t watchers() const { return streams_.size(); }
  std::int64_t revision() const { return revision_; }
  const std::map<std::string, std::string>& objects() const { return objects_; }

  // ---- the API ----

  net::Task<Result<std::string>> get(const Resource&, std::string_view, std::string_view name,
                                     base::Duration) override {
    std::string wanted(name);
    co_await arrive();
    if (get_delay > base::Duration(0)) co_await loop_.sleep(get_delay);
    if (down) co_return unavailable();
    auto at = objects_.find(wanted);
    if (at == objects_.end()) co_return fail(ErrorKind::kNotFound, wanted, " not found");
    co_return at->second;
  }

  net::Task<Result<std::string>> list(const Resource&, ListOptions options,
                                      std::function<Result<void>(std::string_view)> on_page,
                                      std::function<void()> on_restart, base::Duration) override {
    ++lists;
    co_await arrive();
    if (down) co_return unavailable();
    if (list_error) co_return std::unexpected(*list_error);
    if (fail_lists > 0) {
      --fail_lists;
      co_return fail(ErrorKind::kInternal, "the list failed");
    }
    bool restart = restart_lists > 0;
    if (restart) --restart_lists;
    while (true) {
      const auto snapshot = objects_;
      const std::int64_t at_revision = revision_;
      std::size_t on_this_page = 0;
      std::string items;
      int page_number = 0;
      bool restarted = false;
      for (auto at = snapshot.begin(); at != snapshot.end(); ++at) {
        items += (on_this_page++ ? "," : "") + at->second;
        if (on_this_page < static_cast<std::size_t>(options.page_size) && std::next(at) != snapshot.end()) continue;
        TM_CO_TRY_VOID(on_page(page(items, at_revision)));
        items.clear();
        on_this_page = 0;
        if (++page_number == 1 && before_second_page) before_second_page();
        co_await loop_.sleep(std::chrono::milliseconds(1));
        if (restart) {
          restart = false;
          restarted = true;
          on_restart();
          break;
        }
      }
      if (restarted) continue;
      if (snapshot.empty()) TM_CO_TRY_VOID(on_page(page("", at_revision)));
      co_return base::cat(at_revision);
    }
  }

  net::Task<Result<std::unique_ptr<WatchStream>>> watch(const Resource&, WatchOptions options) override {
    watched_from.push_back(options.resource_version);
    co_await arrive();
    if (down) co_return unavailable();
    const auto from = base::parse_int(options.resource_version);
    if (!from) co_return fail(ErrorKind::kInvalid, "bad resourceVersion");
    auto stream = std::make_unique<Stream>(*this);
    if (*from < history_start_) {
      stream->end(Error{ErrorKind::kGone, "too old resource version", 410, 0});
    } else {
      for (const auto& [revision, event] : history_) {
        if (revision > *from) stream->give(event);
      }
    }
    co_return std::unique_ptr<WatchStream>(std::move(stream));
  }

  net::Task<Result<std::string>> create(const Resource&, std::string body, WriteOptions, std::string_view,
                                        base::Duration) override {
    co_await arrive();
    if (down) co_return unavailable();
    if (takes_no_writes) co_return fail(ErrorKind::kInternal, "etcdserver: mvcc: database space exceeded");
    written.push_back(body);
    Json object = *Json::parse(body);
    const std::string name(object.text_at("metadata", "name"));
    if (objects_.contains(name)) co_return fail(ErrorKind::kAlreadyExists, name, " already exists");
    object["metadata"]["resourceVersion"] = Json(base::cat(++revision_));
    objects_[name] = object.dump();
    tell(EventType::kAdded, objects_[name]);
    co_return objects_[name];
  }

  net::Task<Result<std::string>> patch(const Resource&, std::string_view name, PatchType, std::string body,
                                       WriteOptions, base::Duration) override {
    std::string wanted(name);
    co_await arrive();
    if (down) co_return unavailable();
    if (takes_no_writes) co_return fail(ErrorKind::kInternal, "etcdserver: mvcc: database space exceeded");
    written.push_back(body);
    auto at = objects_.find(wanted);
    if (at == objects_.end()) co_return fail(ErrorKind::kNotFound, wanted, " not found");
    Json object = *Json::parse(at->second);
    const Json change = *Json::parse(body);
    const std::string_view expected = change.text_at("metadata", "resourceVersion");
    if (!expected.empty() && expected != object.text_at("metadata", "resourceVersion")) {
      co_return fail(ErrorKind::kConflict, "the object has been modified");
    }
    merge(object, change);
    object["metadata"]["resourceVersion"] = Json(base::cat(++revision_));
    at->second = object.dump();
    tell(EventType::kModified, at->second);
    co_return at->second;
  }

  net::Task<Result<void>> remove(const Resource&, std::string_view name, std::string, WriteOptions,
                                 base::Duration) override {
    std::string wanted(name);
    co_await arrive();
    if (down) co_return std::unexpected(unavailable().error());
    remove_object(wanted);
    co_return Result<void>();
  }

 private:
  struct Told {
    EventType type = EventType::kAdded;
    std::string object;
  };
  class Stream final : public WatchStream {
   public:
    explicit Stream(ScriptedApi& api) : api_(api), news_(api.loop_) { api_.streams_.insert(this); }
    ~Stream() override { api_.streams_.erase(this); }
    void give(Told event) {
      if (ended_) return;
      events_.push_back(std::move(event));
      news_.set();
    }
    void end(std::optional<Error> error) {
      ended_ = true;
      error_ = std::move(error);
      news_.set();
    }
    net::Task<Result<std::optional<WatchEvent>>> next() override {
      while (events_.empty() && !ended_) {
        news_.clear();
        co_await news_.wait();
      }
      if (!events_.empty()) {
        given_ = std::move(events_.front());
        events_.pop_front();
        co_return std::optional<WatchEvent>({given_.type, given_.object});
      }
      if (error_) co_return std::unexpected(*error_);
      co_return std::optional<WatchEvent>();
    }

   private:
    ScriptedApi& api_;
    net::Event news_;
    std::deque<Told> events_;
    Told given_;  // last: its receiver reads these bytes
    bool ended_ = false;
    std::optional<Error> error_;
  };

  // Every call takes a millisecond, so that something can happen while it is under way.
  net::Task<void> arrive() {
    calls.push_back(loop_.clock().monotonic());
    co_await loop_.sleep(std::chrono::milliseconds(1));
  }
  static std::unexpected<Error> unavailable() { return fail(ErrorKind::kUnavailable, "connection refused"); }

  std::string render(const std::string& name, Json spec) {
    Json object = Json::object();
    object["kind"] = Json("Thing");
    object["metadata"]["name"] = Json(name);
    object["metadata"]["resourceVersion"] = Json(base::cat(++revision_));
    object["spec"] = std::move(spec);
    return object.dump();
  }
  static std::string page(const std::string& items, std::int64_t revision) {
    return base::cat(R"({"kind":"ThingList","metadata":{"resourceVersion":")", revision, R"("},"items":[)", items,
                     "]}");
  }
  static void merge(Json& into, const Json& change) {
    for (const auto& [key, value] : change.as_object()) {
      if (value.is_object()) {
        merge(into[key], value);
      } else if (value.is_null()) {
        into.as_object().erase(key);
      } else {
        into[key] = value;
      }
    }
  }
  void tell(EventType type, const std::string& object) {
    history_.emplace_back(revision_, Told{type, object});
    for (auto* stream : streams_) stream->give({type, object});
  }

  net::EventLoop& loop_;
  std::map<std::string, std::string> objects_;
  std::int64_t revision_ = 100;
  std::int64_t history_start_ = 100;
  std::vector<std::pair<std::int64_t, Told>> history_;
  std::set<Stream*> streams_;
};

}  // namespace tidemark::kube::testing
