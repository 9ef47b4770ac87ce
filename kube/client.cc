#include "kube/client.h"

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "kube/client_metrics.h"
#include "kube/decode.h"
#include "kube/status.h"
#include "kube/told_write.h"
#include "kube/watch_decoder.h"
#include "net/http.h"

namespace tidemark::kube {
namespace {

constexpr int kAttemptsMax = 10;  // of one call
constexpr base::Duration kBackoffInitial = std::chrono::milliseconds(100);
constexpr base::Duration kBackoffMax = std::chrono::seconds(5);
constexpr double kBackoffJitter = 0.3;
constexpr double kRetryAfterSpread = 0.25;                            // comes later than told by up to this share
constexpr int kListRestartsMax = 2;                                   // after expired continue tokens
constexpr base::Duration kWatchOpenLimit = std::chrono::seconds(30);  // until the head of a watch is there
constexpr base::Duration kErrorBodyLimit = std::chrono::seconds(10);  // to read why a watch was refused
constexpr std::size_t kErrorBodyBytesMax = 64 * 1024;
constexpr double kWatchTimeoutSpread = 0.2;  // so that watches opened together do not end together

// What may be sent again when it did not go well.
enum class Repeat {
  kAlways,          // reads
  kWhenNotStarted,  // writes, and watches: only when the server says that it did not begin (429, 503 with Retry-After)
  kNever,           // the caller decides (eviction: 429 is a disruption budget's no)
};

double seconds_of(base::Duration d) {
  return std::chrono::duration<double>(d).count();
}

// Result of one request, as operators distinguish it.
std::string_view outcome_of(const Error* error, bool answered) {
  if (error == nullptr) return "ok";
  if (!answered) return error->kind == ErrorKind::kDeadline ? "no_answer" : "unreachable";
  const std::string_view outcome = outcome_of_status(error->code);
  return outcome == "ok" ? "refused" : outcome;  // an answer that is no success, but was none either
}

// "/path?a=b&c=d" with values escaped; empty values are left out.
class TargetBuilder {
 public:
  explicit TargetBuilder(std::string path) : target_(std::move(path)) {}
  TargetBuilder& add(std::string_view key, std::string_view value) {
    if (value.empty()) return *this;
    target_ += base::cat(query_ ? '&' : '?', key, '=', net::percent_encode(value));
    query_ = true;
    return *this;
  }
  TargetBuilder& add(std::string_view key, std::int64_t value) { return add(key, base::cat(value)); }
  std::string take() { return std::move(target_); }

 private:
  std::string target_;
  bool query_ = false;
};

std::string write_target(const Resource& resource, std::string_view name, const WriteOptions& options,
                         bool with_manager) {
  TargetBuilder target(resource_path(resource, options.ns, name, options.subresource));
  if (with_manager) target.add("fieldManager", options.field_manager);
  if (options.dry_run) target.add("dryRun", "All");
  return target.take();
}

Repeat write_repeat(const WriteOptions& options) {
  return options.subresource == "eviction" ? Repeat::kNever : Repeat::kWhenNotStarted;
}

std::string_view content_type(PatchType type) {
  switch (type) {
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kStrategicMerge:
      return "application/strategic-merge-patch+json";
    case PatchType::kJson:
      return "application/json-patch+json";
  }
  return "";
}

std::int64_t to_seconds(base::Duration d) {
  return std::chrono::duration_cast<std::chrono::seconds>(d).count();
}

// Method and path, for messages: selectors and continue tokens are long and say little.
std::string doing(const net::HttpRequest& request) {
  const std::string_view target = request.target;
  return base::cat(request.method, " ", target.substr(0, target.find('?')));
}

// As RFC 9562 writes a random one.
std::string uuid(base::Random& random) {
  constexpr std::uint64_t kVersion = 0x4000;
  constexpr std::uint64_t kVariant = std::uint64_t{2} << 62;
  const std::uint64_t high = (random.next() & ~std::uint64_t{0xF000}) | kVersion;
  const std::uint64_t low = (random.next() & ~(std::uint64_t{3} << 62)) | kVariant;
  std::string text;
  for (const std::uint64_t half : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(half >> shift) & 15];
  }
  for (const std::size_t at : {8, 13, 18, 23}) text.insert(at, 1, '-');
  return text;
}

// A transport may have named the call already.
Error of_transport(Error error, const net::HttpRequest& request) {
  if (error.message.starts_with(request.method)) return error;
  return std::move(error).within(doing(request));
}

bool may_repeat(Repeat repeat, const Error& error, bool answered) {
  if (repeat == Repeat::kNever) return false;
  if (answered && error.code == 429) return true;
  if (repeat == Repeat::kWhenNotStarted) return answered && error.code == 503 && error.retry_after_ms > 0;
  return error.kind == ErrorKind::kUnavailable || (error.code >= 500 && error.retry_after_ms > 0);
}

class HttpWatchStream final : public WatchStream {
 public:
  HttpWatchStream(std::unique_ptr<net::HttpStream> stream, base::Duration silence_limit, std::string place)
      : stream_(std::move(stream)), silence_limit_(silence_limit), place_(std::move(place)) {}

  net::Task<Result<std::optional<WatchEvent>>> next() override {
    while (true) {
      auto event = decoder_.next();
      if (!event) co_return base::fail(std::move(event).error().within(place_));
      if (*event) co_return std::move(*event);
      if (ended_) {
        if (decoder_.between_events()) co_return std::nullopt;
        co_return base::fail(ErrorKind::kUnavailable, place_, ": the stream ended in the middle of an event");
      }
      auto piece = co_await stream_->read(silence_limit_);
      if (!piece) {
        if (piece.error().kind == ErrorKind::kDeadline) {
          if (!decoder_.between_events()) {
            co_return base::fail(ErrorKind::kUnavailable, place_, ": not a byte for ", to_seconds(silence_limit_),
                                 " s, in the middle of an event");
          }
          ended_ = true;
          continue;
        }
        co_return base::fail(std::move(piece).error().within(place_));
      }
      if (*piece) {
        decoder_.feed(**piece);
      } else {
        ended_ = true;
      }
    }
  }

 private:
  std::unique_ptr<net::HttpStream> stream_;
  base::Duration silence_limit_;
  std::string place_;
  WatchDecoder decoder_;
  bool ended_ = false;
};

// Of an object of eleven kilobytes a tenth. A server that does not know the form answers in full.
constexpr std::string_view kOnlyMetadata =
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";

}  // namespace

struct Client::Impl {
  Impl(net::EventLoop& loop_in, net::HttpTransport& transport_in, std::function<std::string()> bearer_in,
       ClientConfig config_in, base::Random random_in)
      : loop(loop_in),
        transport(transport_in),
        bearer(std::move(bearer_in)),
        config(std::move(config_in)),
        random(random_in),
        budget(std::make_shared<CallBudget>(loop, config.queries_per_second, config.burst)) {}

  net::EventLoop& loop;
  net::HttpTransport& transport;
  std::function<std::string()> bearer;
  ClientConfig config;
  base::Random random;
  std::shared_ptr<CallBudget> budget;
  Impl* behind = nullptr;         // whose budget is used where it has a place sooner than ours
  std::unique_ptr<Client> ahead;  // made when it is asked for

  base::MonotonicTime now() const { return loop.clock().monotonic(); }

  net::HttpRequest request(std::string method, std::string target, std::string body, std::string_view type) const {
    net::HttpRequest made;
    made.method = std::move(method);
    made.target = std::move(target);
    made.body = std::move(body);
    made.headers.set("accept", "application/json");
    made.headers.set("user-agent", config.user_agent);
    if (!type.empty()) made.headers.set("content-type", type);
    return made;
  }

  Result<void> authorize(net::HttpRequest& out) const {
    const std::string token = bearer ? bearer() : std::string();
    if (token.empty()) return {};
    for (const char c : token) {
      // A line break would begin a header of the token's own; the token itself is not shown.
      if (c <= ' ' || c > '~') return base::fail(ErrorKind::kInvalid, "the bearer token has a character no token has");
    }
    out.headers.set("authorization", "Bearer " + token);
    return {};
  }

  Error refusal(const net::HttpRequest& request, int status, const net::Headers& headers, std::string_view body) const {
    return status_error(status, headers.get("retry-after"), body, loop.clock().wall(), doing(request));
  }

  base::Backoff backoff() {
    base::BackoffConfig times;
    times.initial = kBackoffInitial;
    times.max = kBackoffMax;
    times.jitter = kBackoffJitter;
    return base::Backoff(times, random.fork());
  }

  // The counts are by verb (component) and outcome (reason).
  void count(std::string_view verb, const Error* error, bool answered, base::Duration took) const {
    if (config.metrics == nullptr) return;
    config.metrics
        ->counter("tidemark_client_requests_total",
                  "Requests to the API server, retries included, by verb and result (ok, conflict, throttled, "
                  "unreachable …).",
                  {{"component", verb}, {"reason", outcome_of(error, answered)}})
        .add();
    request_seconds(*config.metrics, verb).observe(seconds_of(took));
  }
  void count_repeat(std::string_view verb) const {
    if (config.metrics == nullptr) return;
    config.metrics
        ->counter("tidemark_client_repeats_total", "Requests to the API server that were sent again.",
                  {{"component", verb}})
        .add();
  }
  void count_wait(base::Duration waited) const {
    if (config.metrics == nullptr) return;
    config.metrics
        ->histogram("tidemark_client_budget_wait_seconds",
                    "Waits of requests for their place in the client's own budget.",
                    {0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30})
        .observe(seconds_of(waited));
  }

  // A place in the budget, or kDeadline when that would come too late.
  net::Task<Result<Place>> take_place(base::Duration limit) {
    if (behind != nullptr && behind->budget->wait() < budget->wait()) co_return co_await behind->take_place(limit);
    auto place = co_await budget->take(limit);
    if (!place) {
      co_return base::fail(ErrorKind::kDeadline, "the client's own budget of ", config.queries_per_second,
                           " queries a second is used up for longer than this call may wait");
    }
    count_wait(place->waited());
    co_return std::move(*place);
  }

  // How long to wait before the next attempt; nullopt: there is none.
  std::optional<base::Duration> retry_wait(Repeat repeat, const Error& error, bool answered, int attempt,
                                           base::Backoff& waits, base::MonotonicTime deadline) {
    if (attempt >= kAttemptsMax || !may_repeat(repeat, error, answered)) return std::nullopt;
    base::Duration wait = waits.next();
    const base::Duration told = std::chrono::milliseconds(error.retry_after_ms);
    if (told > base::Duration(0)) {
      const double spread = random.unit() * kRetryAfterSpread;
      wait =
          std::max(wait, told + base::Duration(static_cast<std::int64_t>(static_cast<double>(told.count()) * spread)));
    }
    if (now() + wait >= deadline) return std::nullopt;  // better the reason now than a deadline later
    return wait;
  }

  using StreamPointer = std::unique_ptr<net::HttpStream>;

  // One call with its retries, the first in `place` if there is one: `once` returns a value, or an error and whether
  // the server answered at all. `told` is called after each attempt; null: attempts are not reported.
  template <class T>
  struct Attempt {
    Result<T> result;
    bool answered = false;
  };

  template <class T, class Once>
  net::Task<Result<T>> repeated(net::HttpRequest request, Repeat repeat, base::Duration limit, Place place,
                                ToldWrite* told, Once once) {
    const base::MonotonicTime deadline = now() + limit;
    const std::string verb = std::is_same_v<T, StreamPointer> ? "watch" : base::lower(request.method);
    base::Backoff waits = backoff();
    for (int attempt = 1;; ++attempt) {
      if (!place.use()) {
        auto taken = co_await take_place(deadline - now());
        if (!taken) co_return base::fail(std::move(taken).error().within(doing(request)));
        taken->use();
      }
      const base::Duration left = deadline - now();
      if (left <= base::Duration(0)) {
        co_return base::fail(ErrorKind::kDeadline, doing(request), ": no time left to send it");
      }
      // The last attempt's body could be moved; that it is the last is only known afterwards.
      net::HttpRequest sent = request;
      if (auto authorized = authorize(sent); !authorized) {
        co_return base::fail(std::move(authorized).error().within(doing(request)));
      }
      const base::MonotonicTime begun = now();
      if (told != nullptr) sent.unsent = told->begin();
      Attempt<T> outcome = co_await once(std::move(sent), left);
      const Error* error = outcome.result ? nullptr : &outcome.result.error();
      if (told != nullptr) told->end(error, outcome.answered);
      count(verb, error, outcome.answered, now() - begun);
      if (outcome.result) co_return std::move(outcome.result);
      const auto wait = retry_wait(repeat, outcome.result.error(), outcome.answered, attempt, waits, deadline);
      if (!wait) co_return std::move(outcome.result);
      count_repeat(verb);
      co_await loop.sleep(*wait);
    }
  }

  net::Task<Attempt<std::string>> fetch_once(net::HttpRequest sent, base::Duration left, Status* status) {
    net::HttpRequest named;  // what messages need of it
    named.method = sent.method;
    named.target = sent.target;
    auto response = co_await transport.fetch(std::move(sent), left);
    if (!response) {
      co_return Attempt<std::string>{base::fail(of_transport(std::move(response).error(), named)), false};
    }
    if (response->status < 200 || response->status >= 300) {
      if (status != nullptr) *status = parse_status(response->body).value_or(Status());
      co_return Attempt<std::string>{base::fail(refusal(named, response->status, response->headers, response->body)),
                                     true};
    }
    co_return Attempt<std::string>{std::move(response->body), true};
  }

  net::Task<Result<std::string>> call(net::HttpRequest request, Repeat repeat, base::Duration limit, Place place = {},
                                      ToldWrite* told = nullptr, Status* refusal = nullptr) {
    return repeated<std::string>(std::move(request), repeat, limit, std::move(place), told,
                                 [this, refusal](net::HttpRequest sent, base::Duration left) {
                                   return fetch_once(std::move(sent), left, refusal);
                                 });
  }

  net::Task<Result<std::string>> write(net::HttpRequest request, const Resource& resource, std::string_view name,
                                       WriteOptions options, base::Duration limit) {
    if (config.read_only) return denied(doing(request));
    if (!options.answer_is_read) request.headers.set("accept", kOnlyMetadata);
    const Repeat repeat = write_repeat(options);
    if (!config.audit || options.dry_run || resource.plural == kEvents.plural) {
      return call(std::move(request), repeat, limit, std::move(options.place), nullptr, options.refusal);
    }
    Place place = std::move(options.place);
    Status* const refusal = options.refusal;
    model::AuditLine line = audit_line(request, resource, name, std::move(options));
    // The server takes it for the ID under which its own audit log has the request.
    request.headers.set("audit-id", line.trace);
    return told(std::move(request), std::move(line), repeat, limit, std::move(place), refusal);
  }

  model::AuditLine audit_line(const net::HttpRequest& request, const Resource& resource, std::string_view name,
                              WriteOptions options) {
    model::AuditLine line;
    line.actor = config.audit_actor;
    line.verb = request.method == "POST" ? "create" : base::lower(request.method);
    line.kind = resource.kind;
    line.ns = options.ns;
    line.name = name;
    line.part = options.subresource;
    if (resource.plural != kSecrets.plural) {
      line.old_value = std::move(options.note.before);
      line.new_value = request.method == "DELETE" ? "" : request.body;
    }
    if (line.name.empty()) {
      const auto body = Json::parse(request.body);
      if (const Json* named = body ? body->at("metadata", "name") : nullptr)
        line.name = named->get_string().value_or("");
    }
    line.reason = options.note.reason;
    line.config = std::move(options.note.config);
    line.trace = uuid(random);
    return line;
  }

  net::Task<Result<std::string>> told(net::HttpRequest request, model::AuditLine line, Repeat repeat,
                                      base::Duration limit, Place place, Status* refusal) {
    ToldWrite write(loop.clock(), config.audit, std::move(line));
    auto answer = co_await call(std::move(request), repeat, limit, std::move(place), &write, refusal);
    write.over(answer ? nullptr : &answer.error());
    co_return answer;
  }

  static net::Task<Result<std::string>> denied(std::string what) {
    co_return base::fail(ErrorKind::kDenied, what, ": this client only reads");
  }

  net::Task<Attempt<StreamPointer>> open_once(net::HttpRequest sent, base::Duration left) {
    net::HttpRequest named;
    named.method = sent.method;
    named.target = sent.target;
    auto stream = co_await transport.open(std::move(sent), left);
    if (!stream) {
      co_return Attempt<StreamPointer>{base::fail(of_transport(std::move(stream).error(), named)), false};
    }
    const int status = (*stream)->head().status;
    if (status >= 200 && status < 300) co_return Attempt<StreamPointer>{std::move(*stream), true};
    std::string body;
    const base::MonotonicTime end = now() + kErrorBodyLimit;
    while (body.size() < kErrorBodyBytesMax && now() < end) {
      auto piece = co_await (*stream)->read(end - now());
      if (!piece || !*piece) break;  // the status alone is enough of an answer
      body += **piece;
    }
    if (body.size() > kErrorBodyBytesMax) body.resize(kErrorBodyBytesMax);
    co_return Attempt<StreamPointer>{base::fail(refusal(named, status, (*stream)->head().headers, body)), true};
  }

  net::Task<Result<std::unique_ptr<WatchStream>>> open_watch(net::HttpRequest request, base::Duration silence_limit) {
    const std::string place = base::cat("watch ", std::string_view(request.target).substr(0, request.target.find('?')));
    // A server that answers says when to come back. One that does not is its informer's to wait for, which has a pace
    // of its own: ten tries for each of its own would be a herd of those who wait for a server that just came back.
    auto stream = co_await repeated<StreamPointer>(
        std::move(request), Repeat::kWhenNotStarted, kWatchOpenLimit, Place(), nullptr,
        [this](net::HttpRequest sent, base::Duration left) { return open_once(std::move(sent), left); });
    if (!stream) co_return base::fail(std::move(stream).error());
    co_return std::unique_ptr<WatchStream>(std::make_unique<HttpWatchStream>(std::move(*stream), silence_limit, place));
  }

  struct ListCall {
    std::string path;
    std::string label_selector;
    std::string field_selector;
    std::string resource_version;
    std::int64_t page_size = 0;
    bool read_ahead = false;
  };

  net::HttpRequest page_request(const ListCall& what, std::string_view continue_token, bool whole) const {
    TargetBuilder target(what.path);
    target.add("labelSelector", what.label_selector).add("fieldSelector", what.field_selector);
    if (!whole && what.page_size > 0) target.add("limit", what.page_size);
    if (continue_token.empty()) {
      target.add("resourceVersion", what.resource_version);
    } else {
      target.add("continue", continue_token);  // which names the revision by itself
    }
    return request("GET", target.take(), {}, {});
  }

  using Page = net::OneShot<Result<std::string>>;
  net::Task<void> fetch_page(net::HttpRequest request, base::Duration limit, Page& into) {
    into.give(co_await call(std::move(request), Repeat::kAlways, limit, Place::outside_budget()));
  }

  net::Task<Result<std::string>> list_pages(ListCall what, std::function<Result<void>(std::string_view)> on_page,
                                            std::function<void()> on_restart, base::Duration limit) {
    const base::MonotonicTime deadline = now() + limit;
    std::string continue_token;
    int restarts = 0;
    std::optional<Page> next;  // the next page, asked for before this one was read
    net::Scope fetching(loop);
    while (true) {
      // The last try asks for everything at once: with pages it would expire for ever on a server that compacts fast.
      const bool whole = restarts == kListRestartsMax;
      // A list has one place. With one for each page a long list would wait for writes, and writes for it.
      Place place = continue_token.empty() ? Place() : Place::outside_budget();
      auto page = next ? co_await *next
                       : co_await call(page_request(what, continue_token, whole), Repeat::kAlways, deadline - now(),
                                       std::move(place));
      next.reset();
      if (!page) {
        if (page.error().kind != ErrorKind::kGone || continue_token.empty() || whole) {
          co_return base::fail(std::move(page).error());
        }
        ++restarts;
        continue_token.clear();
        if (on_restart) on_restart();
        continue;
      }
      auto meta = read_list_meta(*page);
      if (!meta) co_return base::fail(std::move(meta).error().within("GET " + what.path));
      const bool repeats = !meta->continue_token.empty() && meta->continue_token == continue_token;
      continue_token = std::move(meta->continue_token);
      if (what.read_ahead && !continue_token.empty() && !repeats) {
        fetching.spawn(fetch_page(page_request(what, continue_token, whole), deadline - now(), next.emplace(loop)));
        // Reading holds the loop. In the next round the request begins, in the one after it is on its way.
        for (int round = 0; round < 2; ++round) co_await loop.sleep(base::Duration(0));
      }
      if (auto taken = on_page(*page); !taken) co_return base::fail(std::move(taken).error());
      if (continue_token.empty()) co_return std::move(meta->resource_version);
      if (repeats) {
        co_return base::fail(ErrorKind::kInternal, "GET ", what.path,
                             ": the server returned the same continue token again");
      }
    }
  }
};

base::Histogram& request_seconds(base::Registry& metrics, std::string_view verb) {
  return metrics.histogram("tidemark_client_request_seconds",
                           "From sending a request to its answer, or to the head of a stream.",
                           {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}, {{"component", verb}});
}

Client::Client(net::EventLoop& loop, net::HttpTransport& transport, std::function<std::string()> bearer,
               ClientConfig config, base::Random random)
    : impl_(std::make_unique<Impl>(loop, transport, std::move(bearer), std::move(config), random)) {}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Client& Client::ahead() {
  if (!impl_->ahead) {
    ClientConfig config = impl_->config;
    config.queries_per_second = config.ahead_per_second;
    config.burst = config.ahead_burst;
    auto impl =
        std::make_unique<Impl>(impl_->loop, impl_->transport, impl_->bearer, std::move(config), impl_->random.fork());
    impl->behind = impl_.get();
    impl_->ahead = std::unique_ptr<Client>(new Client(std::move(impl)));
  }
  return *impl_->ahead;
}

base::Duration Client::budget_wait() const {
  const base::Duration own = impl_->budget->wait();
  return impl_->behind == nullptr ? own : std::min(own, impl_->behind->budget->wait());
}

Client::~Client() = default;

net::Task<Result<Place>> Writer::take_place(base::Duration /*limit*/) {
  co_return Place();
}

net::Task<Result<Place>> Client::take_place(base::Duration limit) {
  return impl_->take_place(limit);
}

// The public calls are no coroutines: they take what they need out of views before the first suspension.

net::Task<Result<std::string>> Client::get(const Resource& resource, std::string_view ns, std::string_view name,
                                           base::Duration limit) {
  return impl_->call(impl_->request("GET", resource_path(resource, ns, name), {}, {}), Repeat::kAlways, limit);
}

net::Task<Result<std::string>> Client::list(const Resource& resource, ListOptions options,
                                            std::function<Result<void>(std::string_view page)> on_page,
                                            std::function<void()> on_restart, base::Duration limit) {
  Impl::ListCall what{resource_path(resource, options.ns, {}),
                      std::move(options.label_selector),
                      std::move(options.field_selector),
                      std::move(options.resource_version),
                      options.page_size,
                      options.read_ahead};
  return impl_->list_pages(std::move(what), std::move(on_page), std::move(on_restart), limit);
}

net::Task<Result<std::unique_ptr<WatchStream>>> Client::watch(const Resource& resource, WatchOptions options) {
  const double shortened = 1.0 - impl_->random.unit() * kWatchTimeoutSpread;
  const auto timeout_s = static_cast<std::int64_t>(static_cast<double>(to_seconds(options.server_timeout)) * shortened);
  TargetBuilder target(resource_path(resource, options.ns, {}));
  target.add("watch", "true")
      .add("allowWatchBookmarks", "true")
      .add("labelSelector", options.label_selector)
      .add("fieldSelector", options.field_selector)
      .add("resourceVersion", options.resource_version)
      .add("timeoutSeconds", std::max<std::int64_t>(timeout_s, 1));
  return impl_->open_watch(impl_->request("GET", target.take(), {}, {}), options.silence_limit);
}

net::Task<Result<std::string>> Client::create(const Resource& resource, std::string body, WriteOptions options,
                                              std::string_view name, base::Duration limit) {
  return impl_->write(
      impl_->request("POST", write_target(resource, name, options, true), std::move(body), "application/json"),
      resource, name, options, limit);
}

net::Task<Result<std::string>> Client::patch(const Resource& resource, std::string_view name, PatchType type,
                                             std::string body, WriteOptions options, base::Duration limit) {
  return impl_->write(
      impl_->request("PATCH", write_target(resource, name, options, true), std::move(body), content_type(type)),
      resource, name, options, limit);
}

namespace {
net::Task<Result<void>> without_answer(net::Task<Result<std::string>> call) {
  auto answer = co_await call;
  if (!answer) co_return base::fail(std::move(answer).error());
  co_return Result<void>();
}
}  // namespace

net::Task<Result<void>> Client::remove(const Resource& resource, std::string_view name, std::string preconditions_uid,
                                       WriteOptions options, base::Duration limit) {
  std::string body;
  const bool conditional = !preconditions_uid.empty() || !options.resource_version.empty();
  if (conditional || options.grace_period_s || !options.propagation.empty()) {
    base::JsonWriter writer(body);
    writer.begin_object().member("kind", "DeleteOptions").member("apiVersion", "v1");
    // A server that finds a body reads no options from the query: without this a dry run would delete.
    if (options.dry_run) writer.key("dryRun").begin_array().value("All").end_array();
    if (options.grace_period_s) writer.member("gracePeriodSeconds", *options.grace_period_s);
    if (!options.propagation.empty()) writer.member("propagationPolicy", options.propagation);
    if (conditional) {
      writer.key("preconditions").begin_object();
      if (!preconditions_uid.empty()) writer.member("uid", preconditions_uid);
      if (!options.resource_version.empty()) writer.member("resourceVersion", options.resource_version);
      writer.end_object();
    }
    writer.end_object();
  }
  const std::string_view type = body.empty() ? std::string_view() : std::string_view("application/json");
  return without_answer(
      impl_->write(impl_->request("DELETE", write_target(resource, name, options, false), std::move(body), type),
                   resource, name, options, limit));
}

}  // namespace tidemark::kube
