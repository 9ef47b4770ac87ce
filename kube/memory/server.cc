#include "kube/memory/server.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "kube/memory/answer.h"
#include "kube/memory/collector.h"
#include "kube/memory/discovery.h"
#include "kube/memory/output.h"
#include "kube/memory/registry.h"
#include "kube/memory/request.h"
#include "kube/memory/sqlite_log.h"

namespace tidemark::kube::memory {

using base::cat;
using net::HttpExchange;
using net::Task;

namespace {

constexpr std::string_view kGitVersion = "v1.34.0+tidemark";
constexpr std::string_view kAuthorization = "authorization.k8s.io";
constexpr std::string_view kDefinitions = "customresourcedefinitions.apiextensions.k8s.io";

// Takes as long for a near miss as for a far one, so that time tells nothing but the length.
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

// The first form of discovery that the client names decides, as far as we have it.
bool wants_aggregated(std::string_view accept) {
  for (const std::string_view entry : base::split(accept, ',')) {
    bool v2 = false;
    bool discovery = false;
    for (const std::string_view part : base::split(entry, ';')) {
      v2 = v2 || base::trim(part) == "v=v2";
      discovery = discovery || base::trim(part) == "as=APIGroupDiscoveryList";
    }
    if (v2 && discovery) return true;
    if (base::trim(entry) == "application/json") return false;
  }
  return false;
}

bool is_json(std::string_view content_type) {
  const std::string_view type = base::trim(content_type.substr(0, content_type.find(';')));
  return type.empty() || type == "application/json";
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

Json definition_schema(const Json& crd, std::string_view version) {
  if (const Json* versions = crd.at("spec", "versions"); versions != nullptr && versions->is_array())
    for (const Json& row : versions->as_array())
      if (row.text_at("name") == version && row.at("schema", "openAPIV3Schema") != nullptr)
        return *row.at("schema", "openAPIV3Schema");
  return Json::object({{"type", "object"}});
}

}  // namespace

struct Server::Impl {
  Impl(net::EventLoop& event_loop, base::Log the_log, ServerConfig the_config, std::shared_ptr<SqliteLog> the_disk)
      : loop(event_loop),
        log(std::move(the_log)),
        config(std::move(the_config)),
        disk(std::move(the_disk)),
        store(event_loop, config.store),
        registry(event_loop, store, base::Random(config.seed)),
        collector(event_loop, log.named("collector"), registry) {
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

  // Definitions first: without them the objects of custom kinds cannot be read.
  Result<void> restore() {
    std::int64_t revision = 1;
    for (const bool first : {true, false}) {
      TM_TRY(revision,
             disk->read([&](std::string_view storage, std::string_view, std::string_view body) -> Result<void> {
               if ((storage == kDefinitions) != first) return {};
               TM_TRY(const Json tree, Json::parse(body));
               const int number = store.open(storage);
               KindPtr kind = registry.kind_of_storage(number);
               if (kind == nullptr) return fail(ErrorKind::kInvalid, "no definition of ", storage, " is stored");
               const ObjectPtr object = make_object(*kind, tree);
               store.restore(number, object);
               if (first) registry.apply_crd(*object);
               return {};
             }));
    }
    store.restore_revision(revision);
    return {};
  }

  Task<void> handle(HttpExchange& exchange);
  Answer<void> authenticate(const HttpExchange& exchange, std::string_view path) const;
  Task<void> handle_resource(HttpExchange& exchange, const net::Target& target, const ResourcePath& path);
  bool handle_document(HttpExchange& exchange, const net::Target& target);
  Task<void> handle_review(HttpExchange& exchange);
  Task<void> handle_list(HttpExchange& exchange, const net::Target& target, const ResourcePath& path, KindPtr kind);
  Task<void> handle_watch(HttpExchange& exchange, ListRequest request, ResourcePath path, KindPtr kind,
                          OutputForm form);
  Task<void> handle_write(HttpExchange& exchange, const net::Target& target, const ResourcePath& path, KindPtr kind);
  Task<void> handle_delete_many(HttpExchange& exchange, const net::Target& target, const ResourcePath& path,
                                KindPtr kind);
  Answer<Written> write(std::string_view method, const net::Target& target, const ResourcePath& path,
                        const KindPtr& kind, std::string_view content_type, const std::string& body);
  Answer<Written> write_patch(const net::Target& target, const ResourcePath& path, const KindPtr& kind,
                              std::string_view content_type, const std::string& body);
  void answer_object(HttpExchange& exchange, const ResourcePath& path, const Kind& kind, const Written& written,
                     std::string_view method, const OutputForm& form);
  Answer<Store::Page> page_of(const Kind& kind, const ListRequest& request) const;

  net::EventLoop& loop;
  base::Log log;
  ServerConfig config;
  std::shared_ptr<SqliteLog> disk;  // a write under way on a worker holds it too
  Store store;
  Registry registry;
  Collector collector;
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
  if (handle_document(exchange, *target)) co_return;
  const auto path = parse_resource_path(target->path);
  if (!path || path->plural.empty()) {
    answer_unknown_path(exchange, registry.kinds(), target->path);
    co_return;
  }
  if (path->group == kAuthorization && path->plural == "selfsubjectaccessreviews") {
    co_await handle_review(exchange);
    co_return;
  }
  co_await handle_resource(exchange, *target, *path);
}

bool Server::Impl::handle_document(HttpExchange& exchange, const net::Target& target) {
  std::string path = target.path;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const KindTable& kinds = registry.kinds();
  std::optional<Json> document;
  if (path == "/healthz" || path == "/livez" || path == "/readyz" || path.starts_with("/healthz/") ||
      path.starts_with("/livez/") || path.starts_with("/readyz/")) {
    answer_text(exchange, 200, "text/plain; charset=utf-8", "ok");
    return true;
  }
  const bool aggregated = wants_aggregated(exchange.head().headers.get("accept"));
  if (path == "/version") {
    document = Json::object({{"major", "1"},
                             {"minor", "34"},
                             {"gitVersion", kGitVersion},
                             {"gitCommit", ""},
                             {"gitTreeState", "clean"},
                             {"buildDate", "1970-01-01T00:00:00Z"},
                             {"goVersion", ""},
                             {"compiler", "clang"},
                             {"platform", "linux/amd64"}});
  } else if ((path == "/api" || path == "/apis") && aggregated) {
    net::Headers headers = headers_for("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    headers.set("vary", "Accept");
    exchange.respond(200, std::move(headers), net::make_buffer(aggregated_discovery(kinds, path == "/api").dump()));
    return true;
  } else if (path == "/api") {
    document = api_versions();
  } else if (path == "/apis") {
    document = api_groups(kinds);
  } else if (path == "/openapi/v2") {
    // Only the third version is served. kubectl asks here about kinds that it did not find there, and must find a
    // document, so that it can say that there is no such kind: this one describes nothing.
    if (exchange.head().headers.get("accept").find("protobuf") != std::string_view::npos) {
      answer_text(exchange, 200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
                  std::string("\x0a\x03"
                              "2.0"));
      return true;
    }
    document = Json::object({{"swagger", "2.0"},
                             {"info", Json::object({{"title", "Kubernetes"}, {"version", kGitVersion}})},
                             {"paths", Json::object()}});
  } else if (path == "/openapi/v3") {
    document = openapi_index(kinds);
  } else if (path.starts_with("/openapi/v3/")) {
    const auto parts = base::split(std::string_view(path).substr(12), '/');
    const auto schema_of = [this](const Kind& kind, std::string_view version) {
      const ObjectPtr crd = store.find(definitions, kind.resource_text());
      return crd == nullptr ? Json::object() : definition_schema(crd->json(), version);
    };
    if (parts.size() == 2 && parts[0] == "api") document = openapi_document(kinds, "", parts[1], schema_of);
    if (parts.size() == 3 && parts[0] == "apis") document = openapi_document(kinds, parts[1], parts[2], schema_of);
  } else {
    const auto parts = base::split(path, '/');  // the first is empty
    if (parts.size() == 3 && parts[1] == "api")
      document = api_resources(kinds, "", parts[2]);
    else if (parts.size() == 3 && parts[1] == "apis")
      document = api_group(kinds, parts[2]);
    else if (parts.size() == 4 && parts[1] == "apis")
      document = api_resources(kinds, parts[2], parts[3]);
    else
      return false;
    if (!document) {
      answer_unknown_path(exchange, kinds, path);
      return true;
    }
  }
  if (!document) return false;
  if (exchange.head().method != "GET" && exchange.head().method != "HEAD")
    answer_error(exchange, wrong_method());
  else
    answer_json(exchange, 200, *document);
  return true;
}

Task<void> Server::Impl::handle_resource(HttpExchange& exchange, const net::Target& target, const ResourcePath& path) {
  const std::string& method = exchange.head().method;
  KindPtr kind = registry.kinds().find(path.group, path.version, path.plural);
  if (kind == nullptr || (!kind->namespaced && !path.ns.empty()) ||
      (kind->namespaced && path.ns.empty() && !path.name.empty())) {
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
        answer_object(exchange, path, *kind, {.object = object, .warnings = {}, .ticket = nullptr}, method, *form);
      co_return;
    }
    co_await handle_list(exchange, target, path, kind);
  } else if (method == "DELETE" && !named) {
    co_await handle_delete_many(exchange, target, path, kind);
  } else if (method == "POST" ? !named || !path.subresource.empty()
                              : named && (method == "PUT" || method == "PATCH" || method == "DELETE")) {
    co_await handle_write(exchange, target, path, kind);
  } else {
    answer_error(exchange, wrong_method());
  }
}

// "May I?": who is authenticated may do everything here, so the answer does not depend on what is asked.
Task<void> Server::Impl::handle_review(HttpExchange& exchange) {
  if (exchange.head().method != "POST") {
    answer_error(exchange, wrong_method());
    co_return;
  }
  const auto body = co_await exchange.body(config.body_bytes_max);
  if (!body) {
    answer_error(exchange, bad_request(body.error().message));
    co_return;
  }
  const Result<Json> tree = is_json(exchange.head().headers.get("content-type")) ? Json::parse(*body) : Json();
  const Json* spec = tree ? tree->at("spec") : nullptr;
  answer_json(exchange, 201,
              Json::object({{"kind", "SelfSubjectAccessReview"},
                            {"apiVersion", cat(kAuthorization, "/v1")},
                            {"metadata", Json::object()},
                            {"spec", spec == nullptr ? Json::object() : *spec},
                            {"status", Json::object({{"allowed", true}})}}));
}

Answer<Store::Page> Server::Impl::page_of(const Kind& kind, const ListRequest& request) const {
  const std::int64_t now = store.revision();
  if (request.revision > now) {
    ApiError error =
        plain_error(504, "Timeout", cat("Timeout: Too large resource version: ", request.revision, ", current: ", now));
    error.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
    error.retry_after_s = 1;
    return refuse(std::move(error));
  }
  auto page = store.list(kind.storage_id, request.filter, request.exact ? request.revision : 0, request.continue_key,
                         request.limit);
  if (!page && request.continued)
    page.error().continue_token = make_continue_token(-1, request.continue_key);
  else if (!page)
    page.error().message = cat("The resourceVersion for the provided list is too old: ", request.revision);
  return page;
}

Task<void> Server::Impl::handle_list(HttpExchange& exchange, const net::Target& target, const ResourcePath& path,
                                     KindPtr kind) {
  const auto form = negotiate(exchange.head().headers.get("accept"));
  if (!form) {
    answer_error(exchange, form.error());
    co_return;
  }
  OutputForm shape = *form;
  if (const auto known = choose_included(shape, target); !known) {
    answer_error(exchange, known.error());
    co_return;
  }
  auto request = parse_list_request(*kind, path, target);
  if (!request) {
    answer_error(exchange, request.error());
    co_return;
  }
  if (request->watch) {
    co_await handle_watch(exchange, std::move(*request), path, kind, shape);
    co_return;
  }
  const auto page = page_of(*kind, *request);
  if (!page) {
    answer_error(exchange, page.error());
    co_return;
  }
  const std::string token = page->next_key.empty() ? "" : make_continue_token(page->revision, page->next_key);
  answer_text(exchange, 200, shape.yaml ? "application/yaml" : kJson,
              render_list(*kind, path.version, *page, token, shape, loop.clock().wall()));
}

Task<void> Server::Impl::handle_watch(HttpExchange& exchange, ListRequest request, ResourcePath path, KindPtr kind,
                                      OutputForm form) {
  const bool initial = request.send_initial || request.revision <= 0;
  // Pods are watched by node, everything by name: one write then visits those who asked for it and no others.
  std::vector<std::size_t> indexed;
  for (std::size_t i = 0; i < kind->fields.size(); ++i)
    if (kind->fields[i].path == "spec.nodeName") indexed.push_back(i);
  auto watch = store.watch(kind->storage_id, request.filter, request.revision, initial, std::move(indexed));
  net::Headers headers = headers_for(kJson);
  if (!watch) {
    if (watch.error().code != 410) {
      answer_error(exchange, watch.error());
      co_return;
    }
    // As over an open stream: clients look for the error there.
    exchange.start(200, std::move(headers));
    co_await exchange.write(
        net::make_buffer(cat("{\"type\":\"ERROR\",\"object\":", watch.error().to_json().dump(), "}\n")),
        config.write_timeout);
    co_return;
  }
  exchange.start(200, std::move(headers));
  exchange.end_at_drain();
  Watch& stream = **watch;
  std::int64_t told = stream.revision();
  const base::MonotonicTime begin = loop.clock().monotonic();
  const base::Duration lifetime = request.timeout_s && *request.timeout_s > 0
                                      ? base::Duration(std::chrono::seconds(*request.timeout_s))
                                      : config.watch_timeout;
  base::MonotonicTime bookmark_at = begin + config.bookmark_interval;
  {
    const std::int64_t start = told;
    for (const ObjectPtr& object : stream.take_initial()) {
      const auto sent = co_await exchange.write(
          net::make_buffer(render_initial(*kind, path.version, *object, form, loop.clock().wall())),
          config.write_timeout);
      if (!sent) co_return;
      form.columns = false;  // told once a stream
    }
    if (request.send_initial &&
        !(co_await exchange.write(net::make_buffer(render_bookmark(*kind, path.version, start, true, form)),
                                  config.write_timeout)))
      co_return;
  }
  for (;;) {
    while (auto item = stream.next()) {
      told = item->change->revision;
      const net::Buffer line = render_change(*kind, path.version, item->type, *item->change, form, loop.clock().wall());
      if (!(co_await exchange.write(line, config.write_timeout))) co_return;
      form.columns = false;
    }
    if (stream.overflowed()) {
      const ApiError error = expired(cat("too old resource version: ", told, " (this watch was too slow)"));
      co_await exchange.write(net::make_buffer(cat("{\"type\":\"ERROR\",\"object\":", error.to_json().dump(), "}\n")),
                              config.write_timeout);
      co_return;
    }
    const base::MonotonicTime now = loop.clock().monotonic();
    if (now - begin >= lifetime) {
      if (request.bookmarks)
        co_await exchange.write(net::make_buffer(render_bookmark(*kind, path.version, stream.revision(), false, form)),
                                config.write_timeout);
      co_return;
    }
    if (request.bookmarks && now >= bookmark_at) {
      bookmark_at = now + config.bookmark_interval;
      if (!(co_await exchange.write(
              net::make_buffer(render_bookmark(*kind, path.version, stream.revision(), false, form)),
              config.write_timeout)))
        co_return;
    }
    base::Duration wait = lifetime - (now - begin);
    if (request.bookmarks) wait = std::min(wait, bookmark_at - now);
    co_await stream.wait_for(wait);
  }
}

Answer<Written> Server::Impl::write_patch(const net::Target& target, const ResourcePath& path, const KindPtr& kind,
                                          std::string_view content_type, const std::string& body) {
  const std::string_view type = base::trim(content_type.substr(0, content_type.find(';')));
  PatchKind how = PatchKind::kMerge;
  if (type == "application/json-patch+json")
    how = PatchKind::kJson;
  else if (type == "application/strategic-merge-patch+json" && !kind->custom)
    how = PatchKind::kStrategic;
  else if (type == "application/apply-patch+yaml" || type == "application/apply-patch+cbor")
    return refuse(plain_error(
        415, "UnsupportedMediaType",
        "server-side apply (application/apply-patch+yaml) is not supported by this API server: use client-side apply"));
  else if (type != "application/merge-patch+json")
    return refuse(type == "application/strategic-merge-patch+json"
                      ? plain_error(415, "UnsupportedMediaType",
                                    "the body of the request was in an unknown format - accepted media types include: "
                                    "application/json-patch+json, application/merge-patch+json")
                      : bare_error(415, "UnsupportedMediaType", "415: Unsupported Media Type"));
  TM_TRY(const WriteRequest request, parse_write_request(target, "PatchOptions"));
  const auto patch = Json::parse(body);
  if (!patch) return refuse(bad_request(cat("error decoding patch: ", patch.error().message)));
  return registry.patch(kind, path.version, path.ns, path.name, path.subresource, how, *patch, request);
}

Answer<Written> Server::Impl::write(std::string_view method, const net::Target& target, const ResourcePath& path,
                                    const KindPtr& kind, std::string_view content_type, const std::string& body) {
  if (method == "PATCH") return write_patch(target, path, kind, content_type, body);
  Json tree;
  if (!body.empty()) {
    TM_TRY(tree, parse_body(content_type, body));
  }
  if (method == "DELETE") {
    TM_TRY(const DeleteRequest request, parse_delete_request(target, tree));
    return registry.remove(kind, path.ns, path.name, request);
  }
  if (body.empty()) return refuse(bad_request("the request has no body"));
  TM_TRY(WriteRequest request, parse_write_request(target, method == "POST" ? "CreateOptions" : "UpdateOptions"));
  if (request.field_validation != FieldValidation::kIgnore && is_json(content_type))
    request.duplicates = duplicate_members(body);
  if (path.subresource == "eviction") {
    TM_TRY(
        DeleteRequest options,
        parse_delete_request(net::Target(), tree.at("deleteOptions") == nullptr ? Json() : *tree.at("deleteOptions")));
    options.dry_run = options.dry_run || request.dry_run;
    return registry.evict(path.ns, path.name, tree, options);
  }
  if (path.subresource == "binding") return registry.bind(path.ns, path.name, tree, request);
  if (kind->plural == "bindings" && !kind->custom)
    return registry.bind(path.ns, meta_text(tree, "name"), tree, request);
  if (method == "POST") return registry.create(kind, path.version, path.ns, std::move(tree), request);
  return registry.update(kind, path.version, path.ns, path.name, path.subresource, std::move(tree), request);
}

Task<void> Server::Impl::handle_write(HttpExchange& exchange, const net::Target& target, const ResourcePath& path,
                                      KindPtr kind) {
  const std::string method = exchange.head().method;
  const auto form = negotiate(exchange.head().headers.get("accept"));
  if (!form) {
    answer_error(exchange, form.error());
    co_return;
  }
  auto body = co_await exchange.body(config.body_bytes_max);
  if (!body) {
    if (body.error().kind == ErrorKind::kExhausted)
      answer_error(exchange, plain_error(413, "RequestEntityTooLarge",
                                         cat("Request entity too large: limit is ", config.body_bytes_max)));
    else
      answer_error(exchange, bad_request(body.error().message));
    co_return;
  }
  auto written = write(method, target, path, kind, exchange.head().headers.get("content-type"), *body);
  if (!written) {
    // A refusal may rest on a write that is still on its way to the log: told earlier, a read after it would not agree.
    const std::string name = path.name.empty() ? written.error().name : path.name;
    if (const auto pending = store.pending(kind->storage_id, object_key(kind->namespaced ? path.ns : "", name)))
      co_await Store::durable(pending);
    answer_error(exchange, written.error());
    co_return;
  }
  if (written->ticket != nullptr) {
    const auto durable = co_await Store::durable(written->ticket);
    if (!durable) {
      answer_error(exchange, durable.error());
      co_return;
    }
  }
  if (path.subresource == "eviction" || path.subresource == "binding" ||
      (kind->plural == "bindings" && !kind->custom)) {
    answer_json(exchange, 201,
                Json::object({{"kind", "Status"},
                              {"apiVersion", "v1"},
                              {"metadata", Json::object()},
                              {"status", "Success"},
                              {"code", 201}}));
    co_return;
  }
  answer_object(exchange, path, *kind, *written, method, *form);
}

void Server::Impl::answer_object(HttpExchange& exchange, const ResourcePath& path, const Kind& kind,
                                 const Written& written, std::string_view method, const OutputForm& form) {
  net::Headers headers = headers_for(form.yaml ? "application/yaml" : kJson);
  for (const std::string& warning : written.warnings) headers.add("warning", cat("299 - ", Json(warning).dump()));
  const bool shows_deleted =
      kind.name == "Pod" || kind.name == "Namespace" || kind.name == "Service" || kind.name == "ServiceAccount";
  if (method == "DELETE" && written.removed && (kind.custom || !shows_deleted)) {
    Json details = Json::object({{"name", written.object->name}});
    if (!kind.group.empty()) details["group"] = kind.group;
    details["kind"] = kind.plural;
    details["uid"] = written.object->uid;
    const Json status = Json::object({{"kind", "Status"},
                                      {"apiVersion", "v1"},
                                      {"metadata", Json::object()},
                                      {"status", "Success"},
                                      {"details", std::move(details)}});
    exchange.respond(200, std::move(headers), net::make_buffer(status.dump()));
    return;
  }
  const int status = written.created ? 201 : 200;
  if (form.as == OutputForm::As::kWhole && !form.yaml)
    exchange.respond(status, std::move(headers), object_bytes(kind, path.version, *written.object));
  else
    exchange.respond(status, std::move(headers),
                     net::make_buffer(render_object(kind, path.version, *written.object, form, loop.clock().wall())));
}

Task<void> Server::Impl::handle_delete_many(HttpExchange& exchange, const net::Target& target, const ResourcePath& path,
                                            KindPtr kind) {
  auto body = co_await exchange.body(config.body_bytes_max);
  if (!body) {
    answer_error(exchange, bad_request(body.error().message));
    co_return;
  }
  const auto request = parse_list_request(*kind, path, target);
  const auto tree =
      body->empty() ? Answer<Json>(Json()) : parse_body(exchange.head().headers.get("content-type"), *body);
  const auto options = tree ? parse_delete_request(target, *tree) : Answer<DeleteRequest>(refuse(tree.error()));
  if (!request || !options) {
    answer_error(exchange, request ? options.error() : request.error());
    co_return;
  }
  const auto page = page_of(*kind, *request);
  if (!page) {
    answer_error(exchange, page.error());
    co_return;
  }
  std::vector<Store::TicketPtr> tickets;
  for (const ObjectPtr& object : page->items) {
    auto written = registry.remove(kind, object->ns, object->name, *options);
    if (!written && written.error().code == 404) continue;  // somebody else was faster
    if (!written) {
      answer_error(exchange, written.error());
      co_return;
    }
    if (written->ticket != nullptr) tickets.push_back(written->ticket);
  }
  for (const Store::TicketPtr& ticket : tickets) {
    const auto durable = co_await Store::durable(ticket);
    if (durable) continue;
    answer_error(exchange, durable.error());
    co_return;
  }
  answer_text(exchange, 200, kJson, render_list(*kind, path.version, *page, "", {}, loop.clock().wall()));
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
  impl->registry.make_initial_objects();
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
