// The Kubernetes API as a few calls. Bodies are bytes: the caller decodes them into a projection (kube/decode.h), so
// unneeded fields cost nothing. Writes are patches or creates; there is no "update", because writing a subset of an
// object would delete fields that we do not know.
//
// Answers with a status of 400 and above become errors: 404 kNotFound, 409 kConflict or kAlreadyExists, 410 kGone,
// 401/403 kDenied, 422/400 kInvalid, 415 kUnsupported, 429 kExhausted (with retry_after_ms), 5xx kUnavailable or
// kInternal, with the server's own message. Every call takes its place in the client's budget (queries a second, with
// bursts) first, a list one for all of its pages; the wait counts against its deadline. A caller that writes a decision
// takes the place before it reads the input of the decision (take_place()), because a decision that waits gets old.
// Retries of 429 and 5xx-with-Retry-After happen inside, within the deadline, for calls that are safe to repeat.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/call_budget.h"
#include "kube/config.h"
#include "kube/resource.h"
#include "kube/status.h"
#include "model/audit_line.h"
#include "net/http_client.h"
#include "net/loop.h"

namespace tidemark::kube {

struct ListOptions {
  std::string_view ns;  // empty: all
  std::string label_selector;
  std::string field_selector;
  int page_size = 500;
  // The server makes the next page while this one is read: sooner, and one page more is held.
  bool read_ahead = false;
  std::string resource_version;  // "" is the newest (quorum), "0" is any the watch cache has
};

struct WatchOptions {
  std::string_view ns;
  std::string label_selector;
  std::string field_selector;
  // A list's. "" and "0" ask for the present state as events first, which a server over an old etcd refuses.
  std::string resource_version;
  base::Duration server_timeout = std::chrono::minutes(8);  // the server ends the watch properly after this
  // Time without a byte after which the stream ends as if the server had ended it; the next watch shows whether the
  // server still answers. (The server sends a bookmark per minute only if there is progress. For a kind without
  // changes, etcd reports progress every ten minutes by default.)
  base::Duration silence_limit = std::chrono::minutes(2);
};

enum class EventType { kAdded, kModified, kDeleted, kBookmark };

struct WatchEvent {
  EventType type = EventType::kAdded;
  std::string_view object;  // JSON bytes, valid until the stream is asked for the next event
};

class WatchStream {
 public:
  virtual ~WatchStream() = default;  // ends the watch
  // nullopt when the server ended it properly, or it was silent for too long. An ERROR event is an error of its status:
  // 410 is kGone.
  virtual net::Task<Result<std::optional<WatchEvent>>> next() = 0;
};

enum class PatchType { kMerge, kStrategicMerge, kJson };

// What a write is about, for the audit: the server need not know.
struct WriteNote {
  std::string_view reason{};  // an id of model/reason.h: outlives the call
  std::string before{};       // what stood there, as JSON, where the caller knows it
  std::string config{};       // hash of the settings it was decided by
};

struct WriteOptions {
  std::string_view ns;
  std::string_view subresource;  // "status", "eviction", "binding"
  std::string field_manager = "tidemark";
  bool dry_run = false;
  std::optional<std::int64_t> grace_period_s{};  // of a removal; not given: the object's own
  WriteNote note{};
  Place place{};                        // none: the write waits for its own
  std::string_view resource_version{};  // of a removal: a precondition; "": any
  std::string_view propagation{};       // of a removal: "Background", "Foreground", "Orphan"; "": as the kind has it
  bool answer_is_read = true;           // false: the server need not write the whole object out once more
  Status* refusal = nullptr;            // gets the server's Status if it refuses with one; outlives the call
};

// Ask for the narrowest of these.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual net::Task<Result<std::string>> get(const Resource&, std::string_view ns, std::string_view name,
                                             base::Duration limit) = 0;
  // Delivers pages one by one as bytes of a List object; returns the list's resourceVersion. An expired continue token
  // (410) restarts the list: in `on_restart`, drop what you collected.
  virtual net::Task<Result<std::string>> list(const Resource&, ListOptions options,
                                              std::function<Result<void>(std::string_view page)> on_page,
                                              std::function<void()> on_restart, base::Duration limit) = 0;
};

class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual net::Task<Result<std::unique_ptr<WatchStream>>> watch(const Resource&, WatchOptions options) = 0;
};

class Writer {
 public:
  virtual ~Writer() = default;
  // A place for one write, so that it goes out at once (WriteOptions::place); none where there is no budget. kDeadline:
  // not within `limit`.
  virtual net::Task<Result<Place>> take_place(base::Duration limit);
  // Each answers the object as the server has it now.
  virtual net::Task<Result<std::string>> create(const Resource&, std::string body, WriteOptions options,
                                                std::string_view name,
                                                base::Duration limit) = 0;  // name: for sub-resources
  virtual net::Task<Result<std::string>> patch(const Resource&, std::string_view name, PatchType type, std::string body,
                                               WriteOptions options, base::Duration limit) = 0;
  virtual net::Task<Result<void>> remove(const Resource&, std::string_view name, std::string preconditions_uid,
                                         WriteOptions options, base::Duration limit) = 0;
};

struct ClientConfig {
  double queries_per_second = 30;
  int burst = 50;
  std::string user_agent = "tidemark";
  // Of ahead(), beside the budget above.
  double ahead_per_second = 10;
  int ahead_burst = 50;
  bool read_only = false;             // true: every write fails with kDenied
  base::Registry* metrics = nullptr;  // which outlives the client; null: nothing is counted
  // Called after each write with its result; may be null. Events and dry runs are not reported. The content of a
  // Secret is never reported.
  std::function<void(model::AuditLine)> audit{};
  std::string audit_actor{};
};

class Client final : public Reader, public Watcher, public Writer {
 public:
  // `transport` outlives the client. `bearer` answers the token to send ("" for none); it is asked before every
  // request, so that a rotated token is seen.
  Client(net::EventLoop& loop, net::HttpTransport& transport, std::function<std::string()> bearer, ClientConfig config,
         base::Random random);
  ~Client() override;

  // The same client for what cannot wait in line: its calls have a small budget of their own, and go by the ordinary
  // one where that is used up.
  Client& ahead();
  // How long a call would wait for its place now.
  base::Duration budget_wait() const;
  net::Task<Result<Place>> take_place(base::Duration limit) override;

  net::Task<Result<std::string>> get(const Resource&, std::string_view ns, std::string_view name,
                                     base::Duration limit) override;
  net::Task<Result<std::string>> list(const Resource&, ListOptions options,
                                      std::function<Result<void>(std::string_view page)> on_page,
                                      std::function<void()> on_restart, base::Duration limit) override;
  net::Task<Result<std::unique_ptr<WatchStream>>> watch(const Resource&, WatchOptions options) override;
  net::Task<Result<std::string>> create(const Resource&, std::string body, WriteOptions options, std::string_view name,
                                        base::Duration limit) override;
  net::Task<Result<std::string>> patch(const Resource&, std::string_view name, PatchType type, std::string body,
                                       WriteOptions options, base::Duration limit) override;
  net::Task<Result<void>> remove(const Resource&, std::string_view name, std::string preconditions_uid,
                                 WriteOptions options, base::Duration limit) override;

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidemark::kube
