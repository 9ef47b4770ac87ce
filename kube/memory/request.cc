#include "kube/memory/request.h"

#include <algorithm>
#include <set>

#include "base/base64.h"
#include "base/text.h"
#include "base/yaml.h"
#include "kube/memory/protobuf.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

using Causes = std::vector<Cause>;

constexpr std::string_view kKnownParameters[] = {"allowWatchBookmarks",
                                                 "continue",
                                                 "dryRun",
                                                 "fieldManager",
                                                 "fieldSelector",
                                                 "fieldValidation",
                                                 "force",
                                                 "gracePeriodSeconds",
                                                 "ignoreStoreReadErrorWithClusterBreakingPotential",
                                                 "includeObject",
                                                 "labelSelector",
                                                 "limit",
                                                 "orphanDependents",
                                                 "pretty",
                                                 "propagationPolicy",
                                                 "resourceVersion",
                                                 "resourceVersionMatch",
                                                 "sendInitialEvents",
                                                 "timeout",
                                                 "timeoutSeconds",
                                                 "watch"};

constexpr std::int64_t kWatchSecondsMax = 10'000'000;  // beyond it a time would not fit

// As the API machinery reads it: what is there is true, whatever it says, but for "false" and "0".
bool flag(const net::Target& target, std::string_view key) {
  if (!target.has(key)) return false;
  const std::string_view text = target.get(key);
  return base::lower(text) != "false" && text != "0";
}

constexpr std::size_t kFieldManagerMax = 128;  // bytes

std::unexpected<ApiError> bad_option(std::string_view options, Cause cause) {
  return refuse(invalid("meta.k8s.io", options, "", {std::move(cause)}));
}

Answer<bool> dry_run_of(std::string_view text, bool given, std::string_view options) {
  if (!given || text.empty()) return false;
  if (text == "All") return true;
  return bad_option(options, unsupported_value("dryRun", Json::array({Json(text)}).dump(), {"All"}));
}

Answer<Filter::Term> term_of(const Kind& kind, const FieldTerm& term) {
  Filter::Term out;
  out.value = term.value;
  out.negated = term.negated;
  if (term.field == "metadata.name") {
    out.on = Filter::Term::On::kName;
    return out;
  }
  if (term.field == "metadata.namespace") {
    out.on = Filter::Term::On::kNamespace;
    return out;
  }
  for (std::size_t i = 0; i < kind.fields.size(); ++i) {
    if (kind.fields[i].name != term.field) continue;
    out.field = i;
    return out;
  }
  if (kind.fields.empty())
    return refuse(bad_request(
        cat("\"", term.field, "\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")));
  return refuse(bad_request(cat("field label not supported: ", term.field)));
}

}  // namespace

std::optional<ResourcePath> parse_resource_path(std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  std::vector<std::string_view> parts = base::split(path.substr(1), '/');
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  ResourcePath out;
  std::size_t at = 0;
  if (parts.size() >= 3 && parts[0] == "api") {
    out.version = parts[1];
    at = 2;
  } else if (parts.size() >= 4 && parts[0] == "apis") {
    out.group = parts[1];
    out.version = parts[2];
    at = 3;
  } else {
    return std::nullopt;
  }
  if (parts.size() > at + 1 && parts[at] == "watch") {
    out.watch = true;
    ++at;
  }
  // "namespaces/x/pods" lies in a namespace; "namespaces/x" and "namespaces/x/status" are the namespace itself.
  const bool below_namespace =
      parts[at] == "namespaces" && parts.size() > at + 2 &&
      !(out.group.empty() && parts.size() == at + 3 && (parts[at + 2] == "status" || parts[at + 2] == "finalize"));
  if (below_namespace) {
    out.ns = parts[at + 1];
    at += 2;
  }
  if (at < parts.size()) out.plural = parts[at++];
  if (at < parts.size()) out.name = parts[at++];
  if (at < parts.size())
    out.subresource =
        base::join(std::vector<std::string>(parts.begin() + static_cast<std::ptrdiff_t>(at), parts.end()), "/");
  return out;
}

KindPtr kind_at(const KindTable& kinds, const ResourcePath& path) {
  KindPtr kind = kinds.find(path.group, path.version, path.plural);
  if (kind == nullptr) return nullptr;
  const bool fits = kind->namespaced ? !path.ns.empty() || path.name.empty() : path.ns.empty();
  return fits ? kind : nullptr;
}

Answer<void> check_query(const net::Target& target) {
  for (const auto& [key, value] : target.query) {
    if (std::find(std::begin(kKnownParameters), std::end(kKnownParameters), key) == std::end(kKnownParameters))
      return refuse(bad_request(cat("unknown query parameter \"", key, "\"")));
  }
  return {};
}

std::string make_continue_token(std::int64_t revision, const Filter& filter, std::string_view start_key) {
  if (!filter.ns.empty()) start_key.remove_prefix(filter.ns.size() + 1);
  std::string text =
      base::base64_encode(Json::object({{"v", "meta.k8s.io/v1"}, {"rv", revision}, {"start", start_key}}).dump());
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

namespace {

struct ContinueToken {
  std::int64_t revision = 0;
  std::string start;  // of the keys below the namespace asked for, or of all
};

Answer<ContinueToken> read_continue_token(std::string_view token) {
  const auto broken = [](std::string_view why) {
    return refuse(bad_request(cat("invalid continue token: continue key is not valid: ", why)));
  };
  std::string standard(token);
  for (char& c : standard) c = c == '-' ? '+' : c == '_' ? '/' : c == '+' || c == '/' ? '?' : c;
  const auto text = base::read_base64(standard, base::Base64Padding::kNone);
  if (!text.good) return broken(cat("illegal base64 data at input byte ", text.wrong_at));
  const auto parsed = Json::parse(text.bytes);
  if (!parsed) return broken(parsed.error().message);
  if (parsed->text_at("v") != "meta.k8s.io/v1")
    return broken(cat("server does not recognize this encoded version ", parsed->text_at("v")));
  const Json* revision = parsed->at("rv");
  if (revision != nullptr && !revision->is_int()) return broken("its rv is no integer");
  if (revision == nullptr || revision->as_int() == 0)
    return broken("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  ContinueToken out{revision->as_int(), std::string(parsed->text_at("start"))};
  if (out.start.empty()) return broken("encoded start key empty (version meta.k8s.io/v1)");
  // Nothing that leads out of what was listed.
  if (const auto parts = base::split(std::string_view(out.start).substr(out.start.starts_with('/') ? 1 : 0), '/');
      std::any_of(parts.begin(), parts.end(),
                  [](std::string_view part) { return part.empty() || part == "." || part == ".."; }))
    return broken(out.start);
  if (out.start.starts_with('/')) out.start.erase(0, 1);
  return out;
}

// What the API machinery has against a request's revision and how it is meant.
Answer<void> check_revision_match(const net::Target& target, const ListRequest& request, bool continued) {
  const std::string_view match = target.get("resourceVersionMatch");
  const bool none_or_any = target.get("resourceVersion").empty() || target.get("resourceVersion") == "0";
  const bool initial = target.has("sendInitialEvents");
  const bool exact = match == "Exact";
  const bool known = exact || match == "NotOlderThan";
  Causes causes;
  const auto forbid = [&](std::string_view why) { causes.push_back(forbidden_value("resourceVersionMatch", why)); };
  if (!request.watch) {
    if (!match.empty() && target.get("resourceVersion").empty())
      forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (!match.empty() && continued) forbid("resourceVersionMatch is forbidden when continue is provided");
    if (!match.empty() && !known)
      causes.push_back(unsupported_value("resourceVersionMatch", Json(match).dump(), {"Exact", "NotOlderThan", ""}));
    if (exact && target.get("resourceVersion") == "0")
      forbid("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    if (initial) causes.push_back(forbidden_value("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  } else {
    if (initial && match != "NotOlderThan")
      forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    if (!match.empty() && !initial)
      forbid("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    if (!match.empty() && match != "NotOlderThan")
      causes.push_back(unsupported_value("resourceVersionMatch", Json(match).dump(), {"NotOlderThan"}));
    // A watch from any revision is one with initial events, and that has a match.
    if (continued && (!match.empty() || none_or_any))
      forbid("resourceVersionMatch is forbidden when continue is provided");
  }
  if (causes.empty()) return {};
  return refuse(invalid("meta.k8s.io", "ListOptions", "", std::move(causes)));
}

}  // namespace

Answer<ListRequest> parse_list_request(const Kind& kind, const ResourcePath& path, const net::Target& target) {
  ListRequest out;
  out.filter.ns = path.ns;
  out.filter.name = path.name;
  out.watch = path.watch || (path.name.empty() && flag(target, "watch"));
  out.bookmarks = flag(target, "allowWatchBookmarks");
  out.send_initial = flag(target, "sendInitialEvents");
  auto labels = LabelSelector::parse(target.get("labelSelector"));
  if (!labels) return refuse(std::move(labels.error()));
  out.filter.labels = std::move(*labels);
  TM_TRY(const auto terms, parse_field_selector(target.get("fieldSelector")));
  for (const FieldTerm& term : terms) {
    TM_TRY(Filter::Term resolved, term_of(kind, term));
    out.filter.terms.push_back(std::move(resolved));
  }
  const auto number = [&](std::string_view key) -> Answer<std::optional<std::int64_t>> {
    const std::string_view text = target.get(key);
    if (text.empty()) return std::nullopt;
    const auto parsed = base::parse_int(text);
    if (parsed && *parsed < 0 && key == "limit") return std::nullopt;  // the real server ignores it
    if (parsed && *parsed >= 0) return parsed;
    if (key != "resourceVersion")
      return refuse(bad_request(cat("strconv.ParseInt: parsing ", Json(text).dump(), ": invalid syntax")));
    const std::string why = cat("resourceVersion: Invalid value: ", Json(text).dump(), ": strconv.ParseUint: parsing ",
                                Json(text).dump(), ": invalid syntax");
    if (out.watch) return refuse(plain_error(500, "", why));
    return refuse(bad_request(cat("invalid resource version: ", why)));
  };
  TM_TRY(const auto limit, number("limit"));
  out.limit = static_cast<std::size_t>(limit.value_or(0));  // 0: all
  TM_TRY(out.timeout_s, number("timeoutSeconds"));
  if (out.timeout_s) out.timeout_s = std::min(*out.timeout_s, kWatchSecondsMax);
  TM_TRY(const auto revision, number("resourceVersion"));
  out.revision = revision.value_or(-1);
  const std::string_view token = target.get("continue");
  TM_TRY_VOID(check_revision_match(target, out, !token.empty()));
  out.exact = target.get("resourceVersionMatch") == "Exact";
  // What the API did before there was a match: pages begin at the revision given.
  if (!out.watch && out.limit > 0 && out.revision > 0 && target.get("resourceVersionMatch").empty()) out.exact = true;
  if (out.watch || token.empty()) return out;
  TM_TRY(const ContinueToken at, read_continue_token(token));
  if (out.revision > 0) return refuse(bad_request("specifying resource version is not allowed when using continue"));
  out.start_key = path.ns.empty() ? at.start : cat(path.ns, "/", at.start);
  out.revision = at.revision;
  out.exact = at.revision > 0;  // a negative one: whatever there is now
  out.continued = true;
  return out;
}

Answer<WriteRequest> parse_write_request(const net::Target& target, std::string_view options) {
  WriteRequest out;
  TM_TRY(out.dry_run, dry_run_of(target.get("dryRun"), target.has("dryRun"), options));
  if (target.get("fieldManager").size() > kFieldManagerMax)
    return bad_option(options, too_long("fieldManager", kFieldManagerMax));
  const std::string_view text = target.get("fieldValidation");
  if (text == "Strict")
    out.field_validation = FieldValidation::kStrict;
  else if (text == "Ignore")
    out.field_validation = FieldValidation::kIgnore;
  else if (!text.empty() && text != "Warn")
    return bad_option(options,
                      unsupported_value("fieldValidation", Json(text).dump(), {"", "Ignore", "Strict", "Warn"}));
  return out;
}

Answer<DeleteRequest> parse_delete_request(const net::Target& target, const Json& body) {
  DeleteRequest out;
  // With a body the query says nothing, as in the real server.
  if (!body.is_object()) {
    TM_TRY(out.dry_run, dry_run_of(target.get("dryRun"), target.has("dryRun"), "DeleteOptions"));
    out.propagation = target.get("propagationPolicy");
    if (target.has("gracePeriodSeconds")) {
      out.grace_s = base::parse_int(target.get("gracePeriodSeconds"));
      if (!out.grace_s)
        return refuse(bad_request(
            cat("strconv.ParseInt: parsing ", Json(target.get("gracePeriodSeconds")).dump(), ": invalid syntax")));
    }
    if (target.has("orphanDependents")) out.propagation = flag(target, "orphanDependents") ? "Orphan" : "Background";
  } else {
    if (const std::string_view kind = body.text_at("kind"); !kind.empty() && kind != "DeleteOptions")
      return refuse(plain_error(500, "",
                                cat("no kind ", Json(kind).dump(), " is registered for version ",
                                    Json(body.text_at("apiVersion")).dump(), " as the options of a delete")));
    if (const Json* dry = body.at("dryRun"); dry != nullptr && dry->is_array())
      for (const Json& entry : dry->as_array()) {
        TM_TRY(out.dry_run, dry_run_of(entry.get_string().value_or(""), true, "DeleteOptions"));
      }
    if (const Json* grace = body.at("gracePeriodSeconds"); grace != nullptr && !grace->is_null()) {
      if (!grace->is_int())
        return refuse(plain_error(500, "",
                                  cat("json: cannot unmarshal ", grace->is_string() ? "string" : "value",
                                      " into Go struct field DeleteOptions.gracePeriodSeconds of type int64")));
      out.grace_s = grace->as_int();
    }
    const Json* orphan = body.at("orphanDependents");
    const bool says_orphan = orphan != nullptr && orphan->is_bool();
    if (!body.text_at("propagationPolicy").empty()) {
      out.propagation = body.text_at("propagationPolicy");
      if (says_orphan)
        return bad_option("DeleteOptions",
                          invalid_value("propagationPolicy", Json(out.propagation).dump(),
                                        "orphanDependents and deletionPropagation cannot be both set"));
    } else if (says_orphan) {
      out.propagation = orphan->as_bool() ? "Orphan" : "Background";
    }
    out.uid = body.text_at("preconditions", "uid");
    out.resource_version = body.text_at("preconditions", "resourceVersion");
  }
  if (!out.propagation.empty() && out.propagation != "Background" && out.propagation != "Foreground" &&
      out.propagation != "Orphan")
    return refuse(invalid("meta.k8s.io", "DeleteOptions", "",
                          {unsupported_value("propagationPolicy", Json(out.propagation).dump(),
                                             {"Foreground", "Background", "Orphan", "nil"})}));
  return out;
}

namespace {

constexpr std::size_t kDuplicatesMax = 100;

void find_duplicates(base::JsonReader& reader, const std::string& path, std::vector<std::string>& out) {
  if (reader.peek() == base::JsonReader::Type::kObject) {
    std::set<std::string, std::less<>> seen;
    reader.object([&](std::string_view key) {
      const std::string below = path.empty() ? std::string(key) : cat(path, ".", key);
      if (!seen.insert(std::string(key)).second && out.size() < kDuplicatesMax) out.push_back(below);
      find_duplicates(reader, below, out);
    });
  } else if (reader.peek() == base::JsonReader::Type::kArray) {
    std::size_t index = 0;
    reader.array([&] { find_duplicates(reader, cat(path, "[", index++, "]"), out); });
  } else {
    reader.skip();
  }
}

}  // namespace

std::vector<std::string> duplicate_members(std::string_view json) {
  std::vector<std::string> out;
  base::JsonReader reader(json);
  find_duplicates(reader, "", out);
  return out;
}

Answer<Json> parse_body(std::string_view content_type, const std::string& body) {
  const std::string_view type = base::trim(content_type.substr(0, content_type.find(';')));
  if (type.empty() || type == "application/json") {
    auto parsed = Json::parse(body);
    if (!parsed) return refuse(bad_request(cat("the body of the request is not valid JSON: ", parsed.error().message)));
    return std::move(*parsed);
  }
  if (type == "application/vnd.kubernetes.protobuf") return parse_protobuf(body);
  if (type == "application/yaml" || type == "application/x-yaml" || type == "text/yaml") {
    auto parsed = base::parse_yaml(body);
    if (!parsed) return refuse(bad_request(cat("the body of the request is not valid YAML: ", parsed.error().message)));
    return std::move(*parsed);
  }
  return refuse(plain_error(415, "UnsupportedMediaType",
                            "the body of the request was in an unknown format - accepted media types include: "
                            "application/json, application/yaml, application/vnd.kubernetes.protobuf"));
}

}  // namespace tidemark::kube::memory
