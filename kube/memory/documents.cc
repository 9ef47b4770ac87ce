#include "kube/memory/documents.h"

#include <string>

#include "base/text.h"
#include "kube/memory/answer.h"
#include "kube/memory/discovery.h"

namespace tidemark::kube::memory {

using net::HttpExchange;

namespace {

constexpr std::string_view kGitVersion = "v1.34.0+tidemark";

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

Json definition_schema(const Json& crd, std::string_view version) {
  if (const Json* versions = crd.at("spec", "versions"); versions != nullptr && versions->is_array())
    for (const Json& row : versions->as_array())
      if (row.text_at("name") == version && row.at("schema", "openAPIV3Schema") != nullptr)
        return *row.at("schema", "openAPIV3Schema");
  return Json::object({{"type", "object"}});
}

}  // namespace

bool answer_document(HttpExchange& exchange, const net::Target& target, const Registry& registry, const Store& store,
                     int definitions) {
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
    const auto schema_of = [&](const Kind& kind, std::string_view version) {
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

}  // namespace tidemark::kube::memory
