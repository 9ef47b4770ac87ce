// The JSON body of a write. An unknown member is an error: a write that is understood by half must not be carried out.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"

namespace tidemark::console {

struct WrongBody {
  std::string field;  // "" if the body as a whole is wrong
  std::string detail;
};

// An object with no other members than `members`.
std::expected<Json, WrongBody> parse_body(std::string_view body, std::span<const std::string_view> members);

// Reads members; the first wrong one is kept. `body` outlives it.
class Members {
 public:
  explicit Members(const Json& body) : body_(body) {}

  bool has(std::string_view name) const { return body_.member(name) != nullptr; }
  // "" or false if it is absent.
  std::string text(std::string_view name);
  bool flag(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  std::optional<std::int64_t> number(std::string_view name, std::int64_t min, std::int64_t max);
  std::optional<base::Duration> seconds(std::string_view name, base::Duration min, base::Duration max);

  void wrong(std::string_view field, std::string detail);
  const std::optional<WrongBody>& first_wrong() const { return wrong_; }

 private:
  const Json& body_;
  std::optional<WrongBody> wrong_;
};

// `reason`, a text of at most policy::state::kWhyBytesMax bytes; required unless the body has `dryRun`.
std::string read_reason(Members& members);

}  // namespace tidemark::console
