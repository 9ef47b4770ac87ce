#include "kube/memory/writes.h"

#include "base/text.h"
#include "kube/memory/answer.h"
#include "kube/memory/server.h"

namespace tidemark::kube::memory {

using base::cat;
using net::HttpExchange;
using net::Task;

namespace {

bool is_json(std::string_view content_type) {
  const std::string_view type = base::trim(content_type.substr(0, content_type.find(';')));
  return type.empty() || type == "application/json";
}

}  // namespace

// SelfSubjectAccessReview: every authenticated user may do everything, so the answer is always yes.
Task<void> Writes::answer_review(HttpExchange& exchange) {
  if (exchange.head().method != "POST") {
    answer_error(exchange, wrong_method());
    co_return;
  }
  const auto body = co_await bodies_.read(exchange);
  if (!body) {
    answer_error(exchange, body.error());
    co_return;
  }
  const Result<Json> tree = is_json(exchange.head().headers.get("content-type")) ? Json::parse(body->text) : Json();
  const Json* spec = tree ? tree->at("spec") : nullptr;
  answer_json(exchange, 201,
              Json::object({{"kind", "SelfSubjectAccessReview"},
                            {"apiVersion", cat(kAuthorization, "/v1")},
                            {"metadata", Json::object()},
                            {"spec", spec == nullptr ? Json::object() : *spec},
                            {"status", Json::object({{"allowed", true}})}}));
}

Answer<Written> Writes::write_patch(const net::Target& target, const ResourcePath& path, const KindPtr& kind,
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
  return registry_.patch({kind, path.version, path.ns, path.name, path.subresource}, how, *patch, request);
}

Answer<Written> Writes::write(std::string_view method, const net::Target& target, const ResourcePath& path,
                              const KindPtr& kind, std::string_view content_type, const std::string& body) {
  if (method == "PATCH") return write_patch(target, path, kind, content_type, body);
  Json tree;
  if (!body.empty()) {
    TM_TRY(tree, parse_body(content_type, body));
  }
  if (method == "DELETE") {
    TM_TRY(const DeleteRequest request, parse_delete_request(target, tree));
    return registry_.remove(kind, path.ns, path.name, request);
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
    return registry_.evict(path.ns, path.name, tree, options);
  }
  if (path.subresource == "binding") return registry_.bind(path.ns, path.name, tree, request);
  if (kind->plural == "bindings" && !kind->custom)
    return registry_.bind(path.ns, meta_text(tree, "name"), tree, request);
  if (method == "POST") return registry_.create(kind, path.version, path.ns, std::move(tree), request);
  return registry_.update({kind, path.version, path.ns, path.name, path.subresource}, std::move(tree), request);
}

Task<void> Writes::answer(HttpExchange& exchange, const net::Target& target, const ResourcePath& path, KindPtr kind) {
  const std::string method = exchange.head().method;
  const auto form = negotiate(exchange.head().headers.get("accept"));
  if (!form) {
    answer_error(exchange, form.error());
    co_return;
  }
  auto body = co_await bodies_.read(exchange);
  if (!body) {
    answer_error(exchange, body.error());
    co_return;
  }
  // While the body was on its way the definition may have changed or gone.
  kind = kind_at(registry_.kinds(), path);
  if (kind == nullptr) {
    answer_unknown_path(exchange, registry_.kinds(), target.path);
    co_return;
  }
  auto written = write(method, target, path, kind, exchange.head().headers.get("content-type"), body->text);
  *body = {};  // its room is for others while this one waits for the disk
  if (!written) {
    // A refusal may rest on a write that is still on its way to the log; if sent earlier, a read after it could
    // disagree.
    const std::string name = path.name.empty() ? written.error().name : path.name;
    if (const auto pending = store_.pending(kind->storage_id, object_key(kind->namespaced ? path.ns : "", name)))
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

void Writes::answer_object(HttpExchange& exchange, const ResourcePath& path, const Kind& kind, const Written& written,
                           std::string_view method, const OutputForm& form) {
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
                     net::make_buffer(render_object(kind, path.version, *written.object, form, loop_.clock().wall())));
}

}  // namespace tidemark::kube::memory
