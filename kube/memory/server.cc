#include "kube/memory/server.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "kube/memory/answer.h"
#include "kube/memory/bodies.h"
#include "kube/memory/collector.h"
#include "kube/memory/documents.h"
#include "kube/memory/lists.h"
#include "kube/memory/output.h"
#include "kube/memory/registry.h"
#include "kube/memory/request.h"
#include "kube/memory/sqlite_log.h"
#include "kube/memory/watch_stream.h"
#include "kube/memory/writes.h"

namespace tidemark::kube::memory {

using base::cat;
using net::HttpExchange;
using net::Task;

namespace {

constexpr std::string_view kImpersonate = "impersonate-";  // -user, -group, -uid, -extra-…
constexpr std::string_view kDefinitions = "customresourcedefinitions.apiextensions.k8s.io";

// Takes the same time for a near miss as for a far one, so that timing reveals only the length.
bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// Sub-resources of real kinds that this server does not have, and says so.
constexpr std::string_view kSubresourcesLeftOut[] = {
    "approval", "attach", "ephemeralcontainers", "exec", "log", "portforward", "proxy", "resize", "scale", "token"};

bool is_public(std::string_view path) {
  return path == "/version" || path.starts_with("/healthz") || path.starts_with("/livez") ||
         path.starts_with("/readyz");
}

// What a row of a Table carries of its object.
Answer<void> choose_included(OutputForm& form, const net::Target& target) {
  const std::string_view word = target.get("includeObject");
  if (word == "Object")
    form.include = OutputForm::Include::kObject;
  else if (word == "None")
    form.include = OutputForm::Include::kNone;
  else if (!word.empty() && word != "Metadata" && form.as == OutputForm::As::kTable)
    return refuse(bad_request(cat("Unable to convert to Table as requested: includeObject: Invalid value: ",
                                  Json(word).dump(), ": must be 'Metadata', 'Object', 'None', or empty")));
  return {};
}

}  // namespace

struct Server::Impl {
  Impl(net::EventLoop& event_loop, base::Log the_log, ServerConfig the_config, std::shared_ptr<SqliteLog> the_disk)
      : loop(event_loop),
        log(std::move(the_log)),
        config(std::move(the_config)),
        disk(std::move(the_disk)),
        store(event_loop, config.store),
        registry(event_loop, store, base::Random(config.seed), config.acted_on),
        collector(event_loop, log.named("collector"), registry),
        bodies(event_loop, config),
        lists(event_loop, store, registry, config, bodies),
        writes(event_loop, store, registry, bodies) {
    definitions = store.open(kDefinitions);
    store.on_commit([this](int kind, const Change& change) {
      if (kind == definitions) {
        if (change.type == ChangeType::kDeleted)
          registry.forget_crd(*change.object);
        else
          registry.apply_crd(*change.object);
      }
      collector.changed(kind, change);
    });
  }

  // Definitions first: the objects of custom kinds are read by them. Objects without a definition remain if a user
  // removed the finalizer of the definition: they are kept, and served again when the definition comes back, as at the
  // real server.
  Result<void> restore() {
    const Kind unknown;
    std::map<std::string, std::size_t, std::less<>> left;
    std::int64_t revision = 1;
    for (const bool first : {true, false}) {
      TM_TRY(revision, disk->read([&](std::string_view storage, std::string_view key,
                                      std::string_view body) -> Result<void> {
        if ((storage == kDefinitions) != first) return {};
        if (storage == Store::kGoneOwners) {
          store.restore_gone(std::string(key));
          return {};
        }
        TM_TRY(const Json tree, Json::parse(body));
        const int number = store.open(storage);
        KindPtr kind = registry.kind_of_storage(number);
        if (const ObjectPtr crd = store.find(definitions, std::string(storage)); kind == nullptr && crd != nullptr) {
          registry.apply_crd(*crd, true);
          kind = registry.kind_of_storage(number);
        }
        if (kind == nullptr) ++left[std::string(storage)];
        const ObjectPtr object = make_object(kind == nullptr ? unknown : *kind, tree);
        store.restore(number, object);
        if (first) registry.apply_crd(*object);
        return {};
      }));
    }
    store.restore_revision(revision);
    for (const auto& [storage, objects] : left)
      log.warn("keeping objects without a definition; recreate the definition to see or delete them",
               {{"kind", storage}, {"objects", objects}});
    return {};
  }

  Task<void> handle(HttpExchange& exchange);
  Answer<void> authenticate(const HttpExchange& exchange, std::string_view path) const;
  Task<void> handle_resource(HttpExchange& exchange, const net::Target& target, const ResourcePath& path);
  Task<void> handle_list(HttpExchange& exchange, const net::Target& target, const ResourcePath& path, KindPtr kind);

  net::EventLoop& loop;
  base::Log log;
  ServerConfig config;
  std::shared_ptr<SqliteLog> disk;  // a write under way on a worker holds it too
  Store store;
  Registry registry;
  Collector collector;
  Bodies bodies;
  Lists lists;
  Writes writes;
  int definitions = 0;
};

Answer<void> Server::Impl::authenticate(const HttpExchange& exchange, std::string_view path) const {
  if (const std::string_view header = exchange.head().headers.get("authorization"); !header.empty()) {
    for (const StaticToken& token : config.tokens)
      if (same_secret(header, cat("Bearer ", token.token))) return {};
    return refuse(plain_error(401, "Unauthorized", "Unauthorized"));
  }
  if (is_public(path) || (config.client_certificates && exchange.peer().certificate_common_name)) return {};
  return refuse(plain_error(403, "Forbidden",
                            cat("forbidden: User \"system:anonymous\" cannot ", base::lower(exchange.head().method),
                                " path \"", path, "\"")));
}

Task<void> Server::Impl::handle(HttpExchange& exchange) {
  const auto target = net::parse_target(exchange.head().target);
  if (!target) {
    answer_error(exchange, bad_request("the request's path is not well-formed"));
    co_return;
  }
  if (const auto known = authenticate(exchange, target->path); !known) {
    answer_error(exchange, known.error());
    co_return;
  }
  if (answer_document(exchange, *target, registry, store, definitions)) co_return;
  // Documents are the same for all users. For the other reviews, an answer about the caller itself would be wrong,
  // because the question is about another user.
  for (const auto& [name, value] : exchange.head().headers) {
    if (!name.starts_with(kImpersonate)) continue;
    answer_error(exchange, plain_error(422, "Unsupported",
                                       cat("impersonation (the header ", name, ", kubectl's --as) is not supported by ",
                                           "this API server: every authenticated user may do everything")));
    co_return;
  }
  const auto path = parse_resource_path(target->path);
  if (!path || path->plural.empty()) {
    answer_unknown_path(exchange, registry.kinds(), target->path);
    co_return;
  }
  if (path->group == kAuthorization && path->plural == "selfsubjectaccessreviews") {
    co_await writes.answer_review(exchange);
    co_return;
  }
  co_await handle_resource(exchange, *target, *path);
}

Task<void> Server::Impl::handle_resource(HttpExchange& exchange, const net::Target& target, const ResourcePath& path) {
  const std::string& method = exchange.head().method;
  KindPtr kind = kind_at(registry.kinds(), path);
  if (kind == nullptr) {
    answer_unknown_path(exchange, registry.kinds(), target.path);
    co_return;
  }
  const auto problem = [&]() -> std::optional<ApiError> {
    if (kind->namespaced && path.ns.empty() && method != "GET") return wrong_method();
    const auto known = check_query(target);
    if (path.subresource.empty()) return known ? std::nullopt : std::optional(known.error());
    const bool status = path.subresource == "status" && kind->version(path.version)->status;
    const bool action =
        (path.subresource == "binding" || path.subresource == "eviction" || path.subresource == "finalize") &&
        std::find(kind->subresources.begin(), kind->subresources.end(), path.subresource) != kind->subresources.end();
    if (!status && !action) {
      const auto end = std::end(kSubresourcesLeftOut);
      if (std::find(std::begin(kSubresourcesLeftOut), end, path.subresource) == end) return unknown_resource();
      return plain_error(422, "Unsupported",
                         cat("the sub-resource \"", path.subresource, "\" of ", kind->resource_text(),
                             " is not served by this API server"));
    }
    const bool fits = status                           ? method == "GET" || method == "PUT" || method == "PATCH"
                      : path.subresource == "finalize" ? method == "PUT"
                                                       : method == "POST";
    if (!fits) return wrong_method();
    return known ? std::nullopt : std::optional(known.error());
  }();
  if (problem) {
    answer_error(exchange, *problem);
    co_return;
  }
  const bool named = !path.name.empty();
  if (method == "GET") {
    if (!kind->readable) {
      answer_error(exchange, wrong_method());
      co_return;
    }
    if (named && !path.watch) {
      const auto form = negotiate(exchange.head().headers.get("accept"));
      const ObjectPtr object = store.find(kind->storage_id, object_key(path.ns, path.name));
      if (!form)
        answer_error(exchange, form.error());
      else if (object == nullptr)
        answer_error(exchange, not_found(kind->group, kind->plural, path.name));
      else
        writes.answer_object(exchange, path, *kind, {.object = object, .warnings = {}, .ticket = nullptr}, method,
                             *form);
      co_return;
    }
    co_await handle_list(exchange, target, path, kind);
  } else if (method == "DELETE" && !named) {
    co_await lists.delete_all(exchange, target, path, kind);
  } else if (method == "POST" ? !named || !path.subresource.empty()
                              : named && (method == "PUT" || method == "PATCH" || method == "DELETE")) {
    co_await writes.answer(exchange, target, path, kind);
  } else {
    answer_error(exchange, wrong_method());
  }
}

Task<void> Server::Impl::handle_list(HttpExchange& exchange, const net::Target& target, const ResourcePath& path,
                                     KindPtr kind) {
  auto form = negotiate(exchange.head().headers.get("accept"));
  if (!form) {
    answer_error(exchange, form.error());
    co_return;
  }
  if (const auto known = choose_included(*form, target); !known) {
    answer_error(exchange, known.error());
    co_return;
  }
  auto request = parse_list_request(*kind, path, target);
  if (!request)
    answer_error(exchange, request.error());
  else if (request->watch)
    co_await answer_watch(exchange, loop, store, lists, config, WatchQuestion{std::move(*request), path, kind, *form});
  else
    co_await lists.answer(exchange, path, kind, std::move(*request), *form);
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::open(net::EventLoop& loop, base::Log log, ServerConfig config,
                                             net::WorkerPool* workers) {
  std::shared_ptr<SqliteLog> disk;
  if (!config.data_file.empty()) {
    TM_CHECK(workers != nullptr, "a data file needs a worker to write it");
    TM_TRY(disk, SqliteLog::open(config.data_file));
    // The pool runs one batch at a time, since the store sends one at a time.
    config.store.log = [&loop, workers, file = disk](std::vector<LogRecord> records) -> Task<Result<void>> {
      auto shared = std::make_shared<std::vector<LogRecord>>(std::move(records));
      auto done = co_await workers->run<Result<void>>(loop, [file, shared] { return file->write(*shared); });
      if (!done) co_return fail(std::move(done).error());
      co_return std::move(*done);
    };
  }
  auto impl = std::make_unique<Impl>(loop, std::move(log), std::move(config), std::move(disk));
  if (impl->disk != nullptr) {
    TM_TRY_VOID(impl->restore());
  } else {
    // Nothing of an earlier life is known, so no revision of it may be one of this life: the clock runs ahead of the
    // writes, of which there are fewer than one in a microsecond.
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(loop.clock().wall().since_epoch);
    impl->store.restore_revision(now.count());
  }
  impl->registry.make_initial_objects(impl->config.priority_classes);
  impl->collector.resume();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

net::HttpHandler Server::handler() {
  return [impl = impl_.get()](HttpExchange& exchange) { return impl->handle(exchange); };
}

Store& Server::store() {
  return impl_->store;
}
Registry& Server::registry() {
  return impl_->registry;
}

}  // namespace tidemark::kube::memory
