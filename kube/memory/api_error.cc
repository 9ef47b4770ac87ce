#include "kube/memory/api_error.h"

#include "base/text.h"

namespace tidemark::kube::memory {

using base::cat;

Json ApiError::to_json() const {
  Json meta = Json::object();
  if (!continue_token.empty()) meta["continue"] = continue_token;
  Json status = Json::object({{"kind", "Status"},
                              {"apiVersion", "v1"},
                              {"metadata", std::move(meta)},
                              {"status", "Failure"},
                              {"message", message}});
  if (!reason.empty()) status["reason"] = reason;
  Json details = Json::object();
  if (!name.empty()) details["name"] = name;
  if (!group.empty()) details["group"] = group;
  if (!kind.empty()) details["kind"] = kind;
  if (!causes.empty()) {
    Json::Array list;
    for (const Cause& cause : causes) {
      Json entry = Json::object({{"reason", cause.reason}, {"message", cause.message}});
      if (!cause.field.empty()) entry["field"] = cause.field;
      list.push_back(std::move(entry));
    }
    details["causes"] = std::move(list);
  }
  if (retry_after_s > 0) details["retryAfterSeconds"] = retry_after_s;
  if (!details.as_object().empty() || bare_details) status["details"] = std::move(details);
  status["code"] = code;
  return status;
}

std::unexpected<ApiError> refuse(ApiError error) {
  return std::unexpected(std::move(error));
}

namespace {

ApiError named(int code, std::string_view reason, std::string message, std::string_view group, std::string_view kind,
               std::string_view name) {
  ApiError error;
  error.code = code;
  error.reason = reason;
  error.message = std::move(message);
  error.group = group;
  error.kind = kind;
  error.name = name;
  return error;
}

std::string qualified(std::string_view group, std::string_view word) {
  return group.empty() ? std::string(word) : cat(word, ".", group);
}

}  // namespace

ApiError not_found(std::string_view group, std::string_view resource, std::string_view name) {
  return named(404, "NotFound", cat(qualified(group, resource), " \"", name, "\" not found"), group, resource, name);
}

ApiError already_exists(std::string_view group, std::string_view resource, std::string_view name) {
  return named(409, "AlreadyExists", cat(qualified(group, resource), " \"", name, "\" already exists"), group, resource,
               name);
}

ApiError conflict(std::string_view group, std::string_view resource, std::string_view name, std::string_view why) {
  return named(409, "Conflict",
               cat("Operation cannot be fulfilled on ", qualified(group, resource), " \"", name, "\": ", why), group,
               resource, name);
}

ApiError invalid(std::string_view group, std::string_view kind, std::string_view name, std::vector<Cause> causes) {
  std::string text;
  for (const Cause& cause : causes) {
    if (!text.empty()) text += ", ";
    text += cause.field.empty() ? cause.message : cat(cause.field, ": ", cause.message);
  }
  if (causes.size() > 1) text = cat("[", text, "]");
  ApiError error =
      named(422, "Invalid", cat(qualified(group, kind), " \"", name, "\" is invalid: ", text), group, kind, name);
  error.causes = std::move(causes);
  return error;
}

ApiError forbidden(std::string_view group, std::string_view resource, std::string_view name, std::string_view why) {
  return named(403, "Forbidden", cat(qualified(group, resource), " \"", name, "\" is forbidden: ", why), group,
               resource, name);
}

ApiError bad_request(std::string message) {
  return plain_error(400, "BadRequest", std::move(message));
}

ApiError expired(std::string message) {
  return plain_error(410, "Expired", std::move(message));
}

ApiError plain_error(int code, std::string_view reason, std::string message) {
  return named(code, reason, std::move(message), "", "", "");
}

Cause invalid_value(std::string field, std::string_view shown, std::string_view why) {
  return {"FieldValueInvalid", cat("Invalid value: ", shown, ": ", why), std::move(field)};
}

Cause required_value(std::string field, std::string_view why) {
  return {"FieldValueRequired", why.empty() ? std::string("Required value") : cat("Required value: ", why),
          std::move(field)};
}

Cause unsupported_value(std::string field, std::string_view shown, const std::vector<std::string>& supported) {
  std::string list;
  for (const std::string& value : supported) list += cat(list.empty() ? "" : ", ", "\"", value, "\"");
  return {"FieldValueNotSupported", cat("Unsupported value: ", shown, ": supported values: ", list), std::move(field)};
}

Cause duplicate_value(std::string field, std::string_view shown) {
  return {"FieldValueDuplicate", cat("Duplicate value: ", shown), std::move(field)};
}

Cause forbidden_value(std::string field, std::string_view why) {
  return {"FieldValueForbidden", cat("Forbidden: ", why), std::move(field)};
}

Cause too_long(std::string field, std::size_t bytes_max) {
  return {"FieldValueTooLong", cat("Too long: may not be more than ", bytes_max, " bytes"), std::move(field)};
}

}  // namespace tidemark::kube::memory
