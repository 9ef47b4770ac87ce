#include "kube/memory/registry.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "kube/go_text.h"
#include "kube/memory/crd.h"
#include "kube/memory/json_patch.h"
#include "kube/memory/merge_patch.h"
#include "kube/memory/schema.h"
#include "kube/memory/typed.h"
#include "kube/strategic_merge_patch.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

constexpr std::size_t kSuffixLength = 5;
constexpr std::size_t kShownMax = 200;          // bytes of a body in a message
constexpr std::size_t kPatchShownMax = 10'000;  // bytes of a patched object in a message
constexpr int kGeneratedNameTries = 8;
constexpr std::int64_t kGraceMax = std::int64_t{100} * 365 * 24 * 3600;  // seconds; a time beyond it does not fit

// Kinds whose update must name the revision it was made from.
bool needs_revision(const Kind& kind) {
  return kind.custom || kind.name == "Lease" || kind.name == "CustomResourceDefinition" ||
         kind.name == "PodDisruptionBudget";
}

// A node says its own status when it registers; everyone else starts without one.
bool keeps_status_on_create(const Kind& kind) {
  return kind.name == "Node";
}

// What strict decoding has against a body, in the API machinery's words and order.
std::vector<std::string> decoding_problems(const std::vector<std::string>& duplicates,
                                           const std::vector<std::string>& unknown) {
  std::vector<std::string> out;
  for (const std::string& field : duplicates) out.push_back(cat("duplicate field \"", field, "\""));
  for (const std::string& field : unknown) out.push_back(cat("unknown field \"", field, "\""));
  return out;
}

// They are dropped; the real server leaves them out where they are empty.
void warn_of_managed_fields(const Json& tree, std::vector<std::string>& warnings) {
  const Json* fields = tree.at("metadata", "managedFields");
  if (fields != nullptr && fields->is_array() && !fields->as_array().empty())
    warnings.emplace_back("metadata.managedFields: this API server keeps none");
}

// A patch that makes what cannot be decoded is invalid, where a body would be a bad request.
std::unexpected<ApiError> patch_makes_no_object(std::string_view shown, std::string_view why) {
  return refuse(invalid("", "", "", {invalid_value("patch", Json(shown).dump(), why)}));
}

Json without(const Json& tree, std::initializer_list<std::string_view> members) {
  Json copy = tree;
  for (const std::string_view member : members) copy.as_object().erase(member);
  return copy;
}

bool same_but_revision(const Json& a, const Json& b) {
  Json left = a;
  Json right = b;
  meta(left).as_object().erase("resourceVersion");
  meta(right).as_object().erase("resourceVersion");
  return left == right;
}

// Patches can put deep values into deep places. What is stored must be readable again, inside lists and events too.
constexpr int kObjectDepthMax = base::JsonReader::kDepthMax - 28;

// What etcd takes in one request, and with it the real server; the refusal is in its words. Custom objects are stored
// there as JSON. Built-in ones are stored in protobuf, without names of members and without escapes: it is taken for
// half of the JSON with its escapes undone. The last limit keeps two states of an object within a watcher's queue.
constexpr std::size_t kObjectBytesMax = 1'572'864;       // 1.5 MiB
constexpr std::size_t kObjectTextMax = 7 * 1024 * 1024;  // of JSON

bool too_large(const Kind& kind, std::string_view text) {
  if (text.size() <= kObjectBytesMax) return false;
  if (kind.custom || text.size() > kObjectTextMax) return true;
  std::size_t bytes = text.size();
  for (std::size_t at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at)) {
    const std::size_t length = text.substr(at).starts_with("\\u") ? 6 : 2;
    bytes -= length - 1;
    at += length;
  }
  return bytes > 2 * kObjectBytesMax;
}

bool deeper_than(const Json& tree, int levels) {
  const auto deep = [&](const Json& inner) { return deeper_than(inner, levels - 1); };
  if (tree.is_array()) return levels == 0 || std::any_of(tree.as_array().begin(), tree.as_array().end(), deep);
  return tree.is_object() && (levels == 0 || std::any_of(tree.as_object().begin(), tree.as_object().end(),
                                                         [&](const auto& member) { return deep(member.second); }));
}

Json member_of(const Json& tree, std::string_view metadata_member) {
  const Json* held = tree.at("metadata", metadata_member);
  return held == nullptr ? Json() : *held;
}

void copy_member(Json& to, const Json& from, std::string_view member) {
  const Json* held = from.member(member);
  if (held != nullptr)
    to[member] = Json(*held);
  else
    to.as_object().erase(member);
}

}  // namespace

Registry::Registry(net::EventLoop& loop, Store& store, base::Random random, const std::vector<std::string>& acted_on)
    : loop_(loop), store_(store), random_(random) {
  for (Kind& kind : builtin_kinds()) {
    if (std::find(acted_on.begin(), acted_on.end(), kind.resource_text()) != acted_on.end()) kind.left_out.clear();
    kind.storage_id = store_.open(kind.storage);
    kinds_.put(std::make_shared<Kind>(std::move(kind)));
  }
}

std::string Registry::now_text() const {
  return base::format_rfc3339(loop_.clock().wall());
}

std::string Registry::make_uid() {
  constexpr char kHex[] = "0123456789abcdef";
  std::string uid;
  for (int i = 0; i < 36; ++i) {
    if (i == 8 || i == 13 || i == 18 || i == 23)
      uid += '-';
    else if (i == 14)
      uid += '4';
    else if (i == 19)
      uid += kHex[8 + random_.below(4)];
    else
      uid += kHex[random_.below(16)];
  }
  return uid;
}

std::string Registry::name_suffix() {
  // No vowels and nothing that looks like another letter, so that no name becomes a word.
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string suffix;
  for (std::size_t i = 0; i < kSuffixLength; ++i) suffix += kLetters[random_.below(kLetters.size())];
  return suffix;
}

KindPtr Registry::kind_of_storage(int storage_id) const {
  for (const KindPtr& kind : kinds_.all())
    if (kind->storage_id == storage_id) return kind;
  return nullptr;
}

Answer<ObjectPtr> Registry::current(const Kind& kind, std::string_view ns, std::string_view name) const {
  ObjectPtr object = store_.latest(kind.storage_id, object_key(ns, name));
  if (object == nullptr) return refuse(not_found(kind.group, kind.plural, name));
  return object;
}

Answer<void> Registry::check_head(const Kind& kind, std::string_view version, const Json& tree) const {
  if (!tree.is_object())
    return refuse(bad_request(cat("the object provided is unrecognized (must be of type ", kind.name,
                                  "): couldn't get version/kind; a JSON object is wanted")));
  const std::string_view api = tree.text_at("apiVersion");
  const std::string_view name = tree.text_at("kind");
  // A built-in kind is known by its path; an object of a custom kind says what it is.
  for (const char* member : {"Kind", "apiVersion"})
    if (kind.custom && tree.text_at(member[0] == 'K' ? "kind" : member).empty())
      return refuse(bad_request(cat("the object provided is unrecognized (must be of type ", kind.name, "): Object '",
                                    member, "' is missing in '", tree.dump().substr(0, kShownMax), "'")));
  if (!api.empty() && api != kind.api_version(version))
    return refuse(bad_request(cat("the API version in the data (", api, ") does not match the expected API version (",
                                  kind.api_version(version), ")")));
  if (name.empty() || name == kind.name) return {};
  if (kind.custom)
    return refuse(invalid(kind.group, name, meta_text(tree, "name"),
                          {invalid_value("kind", Json(name).dump(), cat("must be ", kind.name))}));
  const bool known = kinds_.find_kind(kind.group, version, name) != nullptr;
  return refuse(bad_request(
      cat(name, " in version \"", version, "\" cannot be handled as a ", kind.name, ": ",
          known ? cat("converting (", version, ".", name, ") to (", kind.group.empty() ? "core" : kind.group, ".",
                      kind.name, "): unknown conversion")
                : cat("no kind \"", name, "\" is registered for version \"", kind.api_version(version), "\""))));
}

Answer<std::vector<std::string>> Registry::decode(const Kind& kind, std::string_view version, Json& tree,
                                                  const WriteRequest& request) {
  std::vector<std::string> unknown;
  if (kind.custom) {
    const KindVersion* row = kind.version(version);
    if (row->schema != nullptr) row->schema->prune(tree, unknown);
    // metadata is typed for every kind; what it does not know is dropped.
    Json held = meta(tree);
    TM_TRY(auto dropped, decode_typed(held, *builtin_types().find("ObjectMeta")));
    for (const std::string& field : dropped) unknown.push_back("metadata." + field);
    meta(tree) = std::move(held);
  } else {
    auto decoded = decode_typed(tree, *kind.type);
    if (!decoded) {
      decoded.error().message = cat(kind.name, " in version \"", version, "\" cannot be handled as a ", kind.name, ": ",
                                    decoded.error().message);
      return refuse(std::move(decoded.error()));
    }
    unknown = std::move(*decoded);
  }
  to_storage(kind, tree);
  std::vector<std::string> problems = decoding_problems(request.duplicates, unknown);
  if (!problems.empty() && request.field_validation == FieldValidation::kStrict)
    return refuse(bad_request(cat(kind.name, " in version \"", version, "\" cannot be handled as a ", kind.name,
                                  ": strict decoding error: ", base::join(problems, ", "))));
  if (request.field_validation != FieldValidation::kWarn) problems.clear();
  return problems;
}

Answer<void> Registry::check_namespace(const Kind& kind, std::string_view ns, std::string_view name) const {
  if (!kind.namespaced) return {};
  const KindPtr namespaces = kinds_.find_group("", "namespaces");
  const ObjectPtr held = store_.latest(namespaces->storage_id, std::string(ns));
  if (held == nullptr) return refuse(not_found("", "namespaces", ns));
  if (held->terminating) {
    ApiError error =
        forbidden(kind.group, kind.plural, name,
                  cat("unable to create new content in namespace ", ns, " because it is being terminated"));
    error.causes.push_back(
        {"NamespaceTerminating", cat("namespace ", ns, " is being terminated"), "metadata.namespace"});
    return refuse(std::move(error));
  }
  return {};
}

void Registry::prepare_create(const Kind& kind, Json& tree) const {
  JsonObject& held = meta(tree).as_object();
  for (const char* member :
       {"resourceVersion", "selfLink", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "uid"})
    held.erase(member);
  held.set("creationTimestamp", now_text());
  if (kind.generation || kind.custom)
    held.set("generation", 1);
  else
    held.erase("generation");
  const bool status =
      std::any_of(kind.versions.begin(), kind.versions.end(), [](const KindVersion& v) { return v.status; });
  if (status && !keeps_status_on_create(kind)) tree.as_object().erase("status");
  if (kind.name == "Namespace" && !kind.custom) {
    tree["spec"]["finalizers"] = Json::array({"kubernetes"});
    tree["status"] = Json::object({{"phase", "Active"}});
    meta(tree)["labels"]["kubernetes.io/metadata.name"] = std::string(meta_text(tree, "name"));
  } else if (kind.name == "PodDisruptionBudget" && !kind.custom) {
    tree["status"] =
        Json::object({{"disruptionsAllowed", 0}, {"currentHealthy", 0}, {"desiredHealthy", 0}, {"expectedPods", 0}});
  } else if (kind.name == "PersistentVolumeClaim" || kind.name == "PersistentVolume") {
    if (!kind.custom) tree["status"] = Json::object({{"phase", "Pending"}});
  }
}

Answer<Written> Registry::create(const KindPtr& kind, std::string_view version, std::string_view ns, Json body,
                                 const WriteRequest& request) {
  TM_TRY_VOID(check_head(*kind, version, body));
  if (kind->custom) {
    // What is made after the collector has looked would outlive its definition, and could not be read at the next
    // start.
    const KindPtr definitions = kinds_.find_group("apiextensions.k8s.io", "customresourcedefinitions");
    const ObjectPtr crd = store_.latest(definitions->storage_id, kind->resource_text());
    if (crd == nullptr || crd->terminating)
      return refuse(
          plain_error(405, "MethodNotAllowed", "create not allowed while custom resource definition is terminating"));
  }
  TM_TRY(auto warnings, decode(*kind, version, body, request));
  warn_of_managed_fields(body, warnings);
  JsonObject& held = meta(body).as_object();
  if (!meta_text(body, "resourceVersion").empty())
    return refuse(plain_error(500, "", "resourceVersion should not be set on objects to be created"));
  if (const std::string_view own = meta_text(body, "namespace"); kind->namespaced && !own.empty() && own != ns)
    return refuse(bad_request("the namespace of the provided object does not match the namespace sent on the request"));
  if (kind->namespaced)
    held.set("namespace", std::string(ns));
  else
    held.erase("namespace");
  TM_TRY_VOID(check_namespace(*kind, ns, meta_text(body, "name")));

  const std::string prefix(meta_text(body, "generateName"));
  const bool generated = meta_text(body, "name").empty() && !prefix.empty();
  for (int i = 0; generated && i < kGeneratedNameTries; ++i) {
    held.set("name", cat(prefix.substr(0, kNameGeneratedMax), name_suffix()));
    if (store_.latest(kind->storage_id, object_key(kind->namespaced ? ns : "", meta_text(body, "name"))) == nullptr)
      break;
  }
  prepare_create(*kind, body);
  meta(body)["uid"] = make_uid();
  drop_empty_meta(body);
  if (kind->custom) {
    if (const auto& schema = kind->version(version)->schema) schema->apply_defaults(body);
  } else {
    apply_defaults(body, *kind->type);
  }
  const std::string name(meta_text(body, "name"));
  TM_TRY_VOID(admit(*kind, body));
  Causes causes;
  validate_meta(body, *kind, causes);
  if (kind->custom) {
    if (const auto& schema = kind->version(version)->schema) schema->validate(body, causes);
  } else {
    validate_builtin(body, nullptr, *kind, "", causes);
    if (kind->name == "CustomResourceDefinition") prepare_crd(body, nullptr, *this, now_text(), causes);
  }
  if (!causes.empty()) return refuse(invalid(kind->group, kind->name, name, std::move(causes)));
  if (const ObjectPtr other = store_.latest(kind->storage_id, object_key(kind->namespaced ? ns : "", name))) {
    ApiError error = already_exists(kind->group, kind->plural, name);
    if (other->terminating) error.message.insert(0, "object is being deleted: ");
    return refuse(std::move(error));
  }
  TM_TRY(Written written, write(kind, nullptr, std::move(body), request.dry_run, false, Size::kLimited));
  written.created = true;
  written.warnings = std::move(warnings);
  if (!kind->left_out.empty()) written.warnings.push_back(kind->left_out);
  return written;
}

Answer<Written> Registry::update(const WriteTarget& target, Json body, const WriteRequest& request) {
  const auto& [kind, version, ns, name, subresource] = target;
  TM_TRY_VOID(check_head(*kind, version, body));
  const std::string_view own = meta_text(body, "name");
  if (own.empty())
    return refuse(
        bad_request(cat("the name of the object (", name, " based on URL) was undeterminable: name must be provided")));
  if (own != name)
    return refuse(
        bad_request(cat("the name of the object (", own, ") does not match the name on the URL (", name, ")")));
  if (const std::string_view held = meta_text(body, "namespace"); kind->namespaced && !held.empty() && held != ns)
    return refuse(bad_request("the namespace of the provided object does not match the namespace sent on the request"));
  const ObjectPtr before = store_.latest(kind->storage_id, object_key(ns, name));
  if (before == nullptr) {
    if (!kind->create_on_update || !subresource.empty()) return refuse(not_found(kind->group, kind->plural, name));
    meta(body).as_object().erase("resourceVersion");
    return create(kind, version, ns, std::move(body), request);
  }
  if (meta_text(body, "resourceVersion").empty() && needs_revision(*kind))
    return refuse(invalid(kind->group, kind->plural, name,
                          {invalid_value("metadata.resourceVersion", "0", "must be specified for an update")}));
  return update_tree(kind, version, before, std::move(body), subresource, request);
}

Answer<Written> Registry::patch(const WriteTarget& target, PatchKind how, const Json& patch,
                                const WriteRequest& request) {
  const auto& [kind, version, ns, name, subresource] = target;
  TM_TRY(const ObjectPtr before, current(*kind, ns, name));
  Json tree = before->json();
  to_version(*kind, version, tree);
  switch (how) {
    case PatchKind::kMerge:
      if (!patch.is_object()) return refuse(bad_request("error decoding patch: a merge patch must be a JSON object"));
      apply_merge_patch(tree, patch);
      break;
    case PatchKind::kJson:
      if (auto applied = apply_json_patch(tree, patch); !applied) {
        if (applied.error().code != 422) return refuse(std::move(applied).error());
        // The error does not name the operation: the text equals that of the real server.
        ApiError error = plain_error(422, "Invalid", "the server rejected our request due to an error in our request");
        error.bare_details = true;
        return refuse(std::move(error));
      }
      break;
    case PatchKind::kStrategic:
      if (auto applied = apply_strategic_merge_patch(tree, patch, kind->type); !applied) {
        const Error& error = applied.error();
        return refuse(error.code == 400 ? bad_request(error.message) : plain_error(error.code, "", error.message));
      }
      break;
  }
  std::string shown = how == PatchKind::kStrategic ? go_text(patch) : tree.dump();
  if (shown.size() > kPatchShownMax) shown = cat(shown.substr(0, kPatchShownMax), " …");
  if (auto fits = check_head(*kind, version, tree); !fits) return patch_makes_no_object(shown, fits.error().message);
  if (meta_text(tree, "name") != name)
    return refuse(bad_request(
        cat("the name of the object (", meta_text(tree, "name"), ") does not match the name on the URL (", name, ")")));
  if (kind->namespaced && meta_text(tree, "namespace") != ns)
    return refuse(bad_request("the namespace of the provided object does not match the namespace sent on the request"));
  if (meta_text(tree, "uid") != before->uid)
    return refuse(invalid(kind->group, kind->name, name,
                          {invalid_value("metadata.uid", Json(meta_text(tree, "uid")).dump(), "field is immutable")}));
  auto written = update_tree(kind, version, before, std::move(tree), subresource, request);
  if (!written && written.error().code == 400) return patch_makes_no_object(shown, written.error().message);
  return written;
}

Answer<Written> Registry::update_tree(const KindPtr& kind, std::string_view version, const ObjectPtr& before, Json tree,
                                      std::string_view subresource, const WriteRequest& request) {
  const std::string& name = before->name;
  TM_TRY(auto warnings, decode(*kind, version, tree, request));
  warn_of_managed_fields(tree, warnings);
  const Json old = before->json();
  const std::string_view revision = meta_text(tree, "resourceVersion");
  if (!revision.empty() && !base::parse_uint(revision))
    return refuse(plain_error(500, "", cat("strconv.ParseUint: parsing ", Json(revision).dump(), ": invalid syntax")));
  if (!revision.empty() && revision != "0" && revision != cat(before->revision))
    return refuse(
        conflict(kind->group, kind->plural, name,
                 "the object has been modified; please apply your changes to the latest version and try again"));
  if (const std::string_view uid = meta_text(tree, "uid"); !uid.empty() && uid != before->uid)
    return refuse(
        conflict(kind->group, kind->plural, name,
                 cat("Precondition failed: UID in precondition: ", uid, ", UID in object meta: ", before->uid)));
  JsonObject& held = meta(tree).as_object();
  for (const char* member : {"managedFields", "selfLink"}) held.erase(member);
  for (const char* member : {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
                             "generation", "resourceVersion", "namespace"})
    copy_member(meta(tree), *old.at("metadata"), member);

  const KindVersion* row = kind->version(version);
  if (subresource == "status") {
    Json status = tree.at("status") == nullptr ? Json() : *tree.at("status");
    Json metadata = kind->custom ? *old.at("metadata") : *tree.at("metadata");
    if (!kind->custom) copy_member(metadata, *old.at("metadata"), "ownerReferences");
    tree = old;
    tree["metadata"] = std::move(metadata);
    if (status.is_null())
      tree.as_object().erase("status");
    else
      tree["status"] = std::move(status);
  } else if (subresource == "finalize") {
    Json next = old;
    copy_member(next["spec"], tree.at("spec") == nullptr ? Json::object() : *tree.at("spec"), "finalizers");
    tree = std::move(next);
  } else if (row->status) {
    copy_member(tree, old, "status");
    if (kind->name == "Namespace" && !kind->custom) copy_member(tree["spec"], *old.at("spec"), "finalizers");
  }
  if (kind->name == "Namespace" && !kind->custom) meta(tree)["labels"]["kubernetes.io/metadata.name"] = name;
  drop_empty_meta(tree);
  if (kind->custom) {
    if (row->schema != nullptr) row->schema->apply_defaults(tree);
  } else {
    apply_defaults(tree, *kind->type);
  }
  const Json now_spec = without(tree, {"metadata", "status"});
  const Json old_spec = without(old, {"metadata", "status"});
  const bool spec_changed =
      kind->custom && !row->status ? without(tree, {"metadata"}) != without(old, {"metadata"}) : now_spec != old_spec;
  // A deployment's controller reads annotations too.
  const bool annotated =
      kind->name == "Deployment" && !kind->custom && member_of(tree, "annotations") != member_of(old, "annotations");
  if ((kind->generation || kind->custom) && (spec_changed || annotated) && subresource.empty()) {
    const Json* generation = old.at("metadata", "generation");
    meta(tree)["generation"] = (generation == nullptr ? 0 : generation->get_int().value_or(0)) + 1;
  }
  Causes causes;
  validate_meta(tree, *kind, causes);
  validate_meta_update(old, tree, causes);
  if (kind->custom) {
    if (row->schema != nullptr) row->schema->validate(tree, causes);
  } else {
    validate_builtin(tree, &old, *kind, subresource, causes);
    if (kind->name == "CustomResourceDefinition" && subresource.empty())
      prepare_crd(tree, &old, *this, now_text(), causes);
  }
  if (!causes.empty()) return refuse(invalid(kind->group, kind->name, name, std::move(causes)));

  Written written;
  if (same_but_revision(old, tree)) {
    written.object = before;
    written.ticket = store_.pending(kind->storage_id, object_key(before->ns, before->name));
  } else {
    // The last finalizer is gone: so is the object.
    const bool namespace_left = kind->name == "Namespace" && !kind->custom && tree.at("spec", "finalizers") != nullptr;
    const Json* grace = tree.at("metadata", "deletionGracePeriodSeconds");
    const bool waits = grace != nullptr && grace->get_int().value_or(0) > 0;
    const bool gone = before->terminating && finalizers(tree).empty() && !waits && !namespace_left;
    TM_TRY(written, write(kind, before, std::move(tree), request.dry_run, gone, Size::kLimited));
  }
  written.warnings = std::move(warnings);
  if (!kind->left_out.empty() && spec_changed && subresource.empty()) written.warnings.push_back(kind->left_out);
  return written;
}

Answer<Written> Registry::write(const KindPtr& kind, const ObjectPtr& before, Json tree, bool dry_run, bool deleted,
                                Size size) {
  if (!deleted && deeper_than(tree, kObjectDepthMax))
    return refuse(bad_request(cat("the object is nested deeper than ", kObjectDepthMax, " levels")));
  Written written;
  written.removed = deleted;
  if (dry_run) {
    if (before != nullptr) set_revision(tree, before->revision);
    written.object = make_object(*kind, tree);
    return written;
  }
  set_revision(tree, store_.next_revision());
  written.object = make_object(*kind, tree);
  // One that is too large already may become smaller.
  if (const std::string& text = *written.object->bytes; size == Size::kLimited && !deleted && too_large(*kind, text) &&
                                                        (before == nullptr || text.size() >= before->bytes->size()))
    return refuse(plain_error(500, "", "etcdserver: request is too large"));
  ObjectPtr staged = written.object;
  if (deleted) {  // watchers are shown what was stored, whatever the last write made of it
    Json last = before->json();
    set_revision(last, store_.next_revision());
    staged = make_object(*kind, last);
  }
  TM_TRY(written.ticket, store_.stage(kind->storage_id, object_key(staged->ns, staged->name), before, staged, deleted));
  return written;
}

Answer<Written> Registry::put_internal(const KindPtr& kind, const ObjectPtr& before, Json tree) {
  return write(kind, before, std::move(tree), false);
}

Answer<Written> Registry::erase_internal(const KindPtr& kind, const ObjectPtr& before) {
  return write(kind, before, before->json(), false, true);
}

Answer<Written> Registry::remove(const KindPtr& kind, std::string_view ns, std::string_view name,
                                 const DeleteRequest& request) {
  TM_TRY(const ObjectPtr before, current(*kind, ns, name));
  if (!request.uid.empty() && request.uid != before->uid)
    return refuse(conflict(kind->group, kind->name, name,
                           cat("the UID in the precondition (", request.uid, ") does not match the UID in record (",
                               before->uid, "). The object might have been deleted and then recreated")));
  if (!request.resource_version.empty() && request.resource_version != cat(before->revision))
    return refuse(conflict(kind->group, kind->name, name,
                           cat("the ResourceVersion in the precondition (", request.resource_version,
                               ") does not match the ResourceVersion in record (", before->revision,
                               "). The object might have been modified")));
  Json tree = before->json();
  const bool pod = kind->name == "Pod" && !kind->custom;
  const bool is_namespace = kind->name == "Namespace" && !kind->custom;
  if (is_namespace && (name == "default" || name == "kube-system" || name == "kube-public"))
    return refuse(forbidden("", "namespaces", name, "this namespace may not be deleted"));

  std::int64_t grace_s = 0;
  if (pod) {
    const Json* wanted = tree.at("spec", "terminationGracePeriodSeconds");
    grace_s = request.grace_s.value_or(wanted == nullptr ? 30 : wanted->get_int().value_or(30));
    const std::string_view phase = tree.text_at("status", "phase");
    // No process runs the pod, so there is no grace period to wait for.
    if (tree.text_at("spec", "nodeName").empty() || phase == "Succeeded" || phase == "Failed") grace_s = 0;
    grace_s = std::clamp<std::int64_t>(grace_s, 0, kGraceMax);
  }
  std::vector<std::string> held = finalizers(tree);
  const auto require = [&](const char* finalizer) {
    if (std::find(held.begin(), held.end(), finalizer) == held.end()) held.emplace_back(finalizer);
  };
  if (request.propagation == "Foreground") require("foregroundDeletion");
  if (request.propagation == "Orphan") require("orphan");
  if (kind->name == "CustomResourceDefinition" && !kind->custom) require(std::string(kCrdCleanupFinalizer).c_str());

  if (held.empty() && grace_s == 0 && !is_namespace) return write(kind, before, std::move(tree), request.dry_run, true);

  const Json* running = tree.at("metadata", "deletionGracePeriodSeconds");
  const std::int64_t running_s = running == nullptr ? 0 : running->get_int().value_or(0);
  if (before->terminating && !(pod && grace_s < running_s)) {  // deleting again only shortens the time left
    Written written;
    written.object = before;
    written.ticket = store_.pending(kind->storage_id, object_key(before->ns, before->name));
    return written;
  }
  Json& target = meta(tree);
  target["deletionTimestamp"] = base::format_rfc3339(loop_.clock().wall() + std::chrono::seconds(grace_s));
  target["deletionGracePeriodSeconds"] = grace_s;
  if (const Json* generation = target.member("generation");
      generation != nullptr && (kind->generation || kind->custom) && !before->terminating)
    target["generation"] = generation->get_int().value_or(0) + 1;
  Json::Array list;
  for (const std::string& finalizer : held) list.emplace_back(finalizer);
  if (!list.empty()) target["finalizers"] = std::move(list);
  if (is_namespace) tree["status"]["phase"] = "Terminating";
  return write(kind, before, std::move(tree), request.dry_run);
}

std::vector<Json> Registry::definitions_beside(const Json& crd) const {
  const int definitions = kinds_.find_group("apiextensions.k8s.io", "customresourcedefinitions")->storage_id;
  const std::string group(crd.text_at("spec", "group"));
  std::vector<Json> out;
  for (const ObjectPtr& other : store_.latest_all(definitions))
    if (other->name.ends_with("." + group) && other->name != meta_text(crd, "name"))
      if (Json tree = other->json(); tree.text_at("spec", "group") == group) out.push_back(std::move(tree));
  return out;
}

Answer<Written> Registry::accept_names_again(const ObjectPtr& crd) {
  const KindPtr kind = kinds_.find_group("apiextensions.k8s.io", "customresourcedefinitions");
  const Json before = crd->json();
  Json tree = before;
  accept_names(tree, definitions_beside(tree), now_text());
  return tree == before ? Answer<Written>(Written()) : put_internal(kind, crd, std::move(tree));
}

void Registry::apply_crd(const Object& crd, bool anyway) {
  const Json tree = crd.json();
  const bool served =
      kinds_.find_group(tree.text_at("spec", "group"), tree.text_at("spec", "names", "plural")) != nullptr;
  if (!anyway && !served && !condition_holds(tree, "Established")) return;
  KindPtr kind = kind_from_crd(tree);
  if (kind == nullptr) return;
  auto numbered = std::make_shared<Kind>(*kind);
  numbered->storage_id = store_.open(numbered->storage);
  const KindPtr before = kinds_.find_group(numbered->group, numbered->plural);
  kinds_.put(numbered);
  // Objects hold the values of these rows by their place.
  if (before == nullptr || before->fields != numbered->fields)
    store_.remake(numbered->storage_id,
                  [made = KindPtr(numbered)](const Object& object) { return make_object(*made, object.json()); });
}

void Registry::forget_crd(const Object& crd) {
  const Json tree = crd.json();
  kinds_.remove(tree.text_at("spec", "group"), tree.text_at("spec", "names", "plural"));
}

void Registry::make_initial_objects(const std::vector<ClassOfPriority>& more) {
  const KindPtr namespaces = kinds_.find_group("", "namespaces");
  for (const char* name : {"default", "kube-node-lease", "kube-public", "kube-system"}) {
    if (store_.latest(namespaces->storage_id, name) != nullptr) continue;
    const auto made = create(namespaces, "v1", "", Json::object({{"metadata", Json::object({{"name", name}})}}), {});
    TM_CHECK(made.has_value(), "the first namespaces are valid");
  }
  const KindPtr priorities = kinds_.find_group("scheduling.k8s.io", "priorityclasses");
  std::vector<ClassOfPriority> rows = {{"system-cluster-critical", 2'000'000'000},
                                       {"system-node-critical", 2'000'001'000}};
  rows.insert(rows.end(), more.begin(), more.end());
  for (const ClassOfPriority& row : rows) {
    if (store_.latest(priorities->storage_id, row.name) != nullptr) continue;
    const auto made =
        create(priorities, "v1", "",
               Json::object({{"metadata", Json::object({{"name", row.name}})}, {"value", row.value}}), {});
    TM_CHECK(made.has_value(), "the first priority classes are valid");
  }
}

}  // namespace tidemark::kube::memory
