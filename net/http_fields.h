// What a method, a field name and a field value may contain, and which fields belong to a connection instead of a
// message. Used by both codecs, in both directions: what we would refuse to read we also refuse to write, so that no
// value given by a caller can end its line and begin another message.
#pragma once

#include <string_view>

#include "base/result.h"
#include "net/http.h"

namespace tidemark::net {

bool is_token(std::string_view text);           // RFC 9110: method and field names
bool is_field_value(std::string_view value);    // no control characters but the tab
bool is_request_target(std::string_view text);  // visible ASCII

// Fields that the codecs write themselves or that mean nothing beyond one connection: dropped from what callers give.
bool is_connection_field(std::string_view lower_name);

// Says whether `list` (comma-separated words, as in Connection) names `word`, without regard to case.
bool list_has(std::string_view list, std::string_view lower_word);

// Digits and nothing else; more than 18 of them are refused, so that sums of lengths cannot overflow.
std::optional<std::uint64_t> parse_content_length(std::string_view value);

// kInvalid with the field named.
Result<void> check_fields(const Headers& headers);
Result<void> check_request(const HttpRequest& request);

}  // namespace tidemark::net
