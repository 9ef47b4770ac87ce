// What the API answers when it refuses: the contents of a metav1.Status.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace tidemark::kube::memory {

using base::JsonObject;

struct Cause {
  std::string reason;   // "FieldValueInvalid"
  std::string message;  // "Invalid value: \"x\": must be …"
  std::string field;    // "spec.replicas"
};

struct ApiError {
  int code = 500;
  std::string reason = "InternalError";
  std::string message;
  std::string group;  // of the resource meant, as are kind and name
  std::string kind;   // its plural word, or its kind for "Invalid"
  std::string name;
  std::vector<Cause> causes;
  int retry_after_s = 0;
  bool bare_details = false;   // says "details": {} where there are none, as some refusals of the real server do
  std::string continue_token;  // only with an expired continue token: where to go on inconsistently

  Json to_json() const;
};

template <class T>
using Answer = std::expected<T, ApiError>;

std::unexpected<ApiError> refuse(ApiError error);

// `resource` is the plural word, `kind` the kind's name.
ApiError not_found(std::string_view group, std::string_view resource, std::string_view name);
ApiError already_exists(std::string_view group, std::string_view resource, std::string_view name);
ApiError conflict(std::string_view group, std::string_view resource, std::string_view name, std::string_view why);
ApiError invalid(std::string_view group, std::string_view kind, std::string_view name, std::vector<Cause> causes);
ApiError forbidden(std::string_view group, std::string_view resource, std::string_view name, std::string_view why);
ApiError bad_request(std::string message);
ApiError expired(std::string message);
ApiError plain_error(int code, std::string_view reason, std::string message);

// field.Error texts of the API machinery: `Invalid value: "x": why`. `shown` is the value's JSON text.
Cause invalid_value(std::string field, std::string_view shown, std::string_view why);
Cause required_value(std::string field, std::string_view why = "");
Cause unsupported_value(std::string field, std::string_view shown, const std::vector<std::string>& supported);
Cause duplicate_value(std::string field, std::string_view shown);
Cause forbidden_value(std::string field, std::string_view why);
Cause too_long(std::string field, std::size_t bytes_max);

}  // namespace tidemark::kube::memory
