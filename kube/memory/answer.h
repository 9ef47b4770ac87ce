// How the server answers: headers that every answer has, and the refusals that are about no object.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "kube/memory/api_error.h"
#include "kube/memory/kinds.h"
#include "net/http_server.h"

namespace tidemark::kube::memory {

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kAuthorization = "authorization.k8s.io";

net::Headers headers_for(std::string_view content_type);
void answer_text(net::HttpExchange& exchange, int status, std::string_view content_type, std::string text);
void answer_json(net::HttpExchange& exchange, int status, const Json& body);
void answer_error(net::HttpExchange& exchange, const ApiError& error);

// Of a body that could not be read: 413, 408, or 400.
ApiError body_refusal(const Error& error, std::size_t bytes_max);

// With "details": {}, as the real server has it.
ApiError bare_error(int code, std::string_view reason, std::string_view message);
ApiError unknown_resource();
ApiError wrong_method();

// Below an unknown group, or a group with only custom kinds, a path is an absent page and not a resource.
void answer_unknown_path(net::HttpExchange& exchange, const KindTable& kinds, std::string_view path);

}  // namespace tidemark::kube::memory
