#include "gateway/api_calls.h"

#include <utility>

#include "model/names.h"

namespace tidemark::gateway {
namespace {

constexpr int kForbidden = 403;

}  // namespace

kube::WriteOptions in(const std::string& ns) {
  kube::WriteOptions options;
  options.ns = ns;
  options.field_manager = "tidemark-gateway";
  return options;
}

Submission refused_or_unknown(const Error& error) {
  const bool forbidden = error.kind == ErrorKind::kDenied && error.code == kForbidden;
  if (forbidden) return {Submission::Outcome::kRefused, policy::route::EndClass::kAdmission, error.message};
  const bool wrong = error.kind == ErrorKind::kInvalid || error.kind == ErrorKind::kNotFound;
  if (wrong) return {Submission::Outcome::kRefused, policy::route::EndClass::kUser, error.message};
  return {Submission::Outcome::kUnknown, policy::route::EndClass::kUser, error.message};
}

net::Task<Result<std::vector<std::string>>> names_of_objects(kube::Client& client, kube::Resource resource,
                                                             std::string ns, std::string selector) {
  std::vector<std::string> names;
  kube::ListOptions options;
  options.ns = ns;
  options.label_selector = std::move(selector);
  const auto on_page = [&names](std::string_view page) -> Result<void> {
    TM_TRY(const Json list, Json::parse(page));
    const Json* items = list.at("items");
    if (items == nullptr || !items->is_array()) return {};
    for (const Json& item : items->as_array()) names.emplace_back(item.text_at("metadata", "name"));
    return {};
  };
  auto listed = co_await client.list(resource, options, on_page, [&names] { names.clear(); }, kCallLimit);
  if (!listed) co_return fail(std::move(listed).error());
  co_return names;
}

net::Task<Result<void>> remove_finalizer(kube::Client& client, kube::Resource resource, std::string ns,
                                         std::string name, Json spec) {
  auto bytes = co_await client.get(resource, ns, name, kCallLimit);
  if (!bytes) {
    if (bytes.error().kind == ErrorKind::kNotFound) co_return Result<void>();
    co_return fail(std::move(bytes).error());
  }
  TM_CO_TRY(const Json object, Json::parse(*bytes));
  Json kept = Json::array();
  bool found = false;
  if (const Json* finalizers = object.at("metadata", "finalizers"); finalizers != nullptr && finalizers->is_array()) {
    for (const Json& each : finalizers->as_array()) {
      if (each.get_string() == model::kEndIsReadFinalizer) {
        found = true;
      } else {
        kept.as_array().push_back(each);
      }
    }
  }
  if (!found) co_return Result<void>();
  // A merge patch replaces the whole list, so the revision is a precondition.
  Json patch =
      Json::object({{"metadata", Json::object({{"finalizers", std::move(kept)},
                                               {"resourceVersion", object.text_at("metadata", "resourceVersion")}})}});
  if (!spec.is_null()) patch["spec"] = std::move(spec);
  auto patched = co_await client.patch(resource, name, kube::PatchType::kMerge, patch.dump(), in(ns), kCallLimit);
  if (!done_or_gone(patched)) co_return fail(std::move(patched).error());
  co_return Result<void>();
}

}  // namespace tidemark::gateway
