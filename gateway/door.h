// What the doors share: fields of bodies, refusals, and the steps of a run as lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gateway/record.h"
#include "net/http_server.h"

namespace tidemark::gateway {

inline constexpr std::size_t kBodyMax = 4 * 1024 * 1024;
inline constexpr std::int64_t kPageMax = 1000;
inline constexpr std::int64_t kPageDefault = 100;

// A text, or a number or boolean as text. Errors name the field.
Result<std::string> read_text(std::string_view field, const Json& value);
Result<std::vector<std::string>> read_texts(std::string_view field, const Json& value);
// Into conf, each value as a text.
Result<void> read_conf(std::string_view field, const Json& value, SparkJob& job);

void respond(net::HttpExchange& exchange, int status, const Json& body);
// The body, or the status of a refusal and its message.
struct Refusal {
  int status = 500;
  std::string message;
};
Refusal refusal_of(const Error& error);

// The header Idempotency-Key. kInvalid: it is too long.
Result<std::string> idempotency_key(const net::HttpExchange& exchange);

// One line for each step that users ask about.
std::vector<std::string> steps_of(const Record& record, const std::string& app_id);
Json lines_of(const std::vector<std::string>& lines, std::int64_t from, std::int64_t size);

}  // namespace tidemark::gateway
