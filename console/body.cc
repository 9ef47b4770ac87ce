#include "console/body.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "policy/state/order.h"

namespace tidemark::console {

using base::cat;

std::expected<Json, WrongBody> parse_body(std::string_view body, std::span<const std::string_view> members) {
  auto json = Json::parse(body);
  if (!json) return std::unexpected(WrongBody{"", cat("the body is not JSON: ", json.error().message)});
  if (!json->is_object()) return std::unexpected(WrongBody{"", "the body is not a JSON object"});
  for (const auto& [name, value] : json->as_object()) {
    if (std::ranges::find(members, name) != members.end()) continue;
    const auto meant = base::nearest(name, members);
    return std::unexpected(WrongBody{
        name, cat("there is no field ", base::in_quotes(name), meant ? cat("; did you mean ", *meant, "?") : "")});
  }
  return *std::move(json);
}

std::string Members::text(std::string_view name) {
  const Json* found = body_.member(name);
  if (found == nullptr) return {};
  if (!found->is_string()) wrong(name, "expected text");
  return found->is_string() ? found->as_string() : std::string();
}

bool Members::flag(std::string_view name) {
  const Json* found = body_.member(name);
  if (found == nullptr) return false;
  if (!found->is_bool()) wrong(name, "expected true or false");
  return found->is_bool() && found->as_bool();
}

std::optional<std::int64_t> Members::number(std::string_view name, std::int64_t min, std::int64_t max) {
  const Json* found = body_.member(name);
  if (found == nullptr) return std::nullopt;
  const auto value = found->get_int();
  if (!value || *value < min || *value > max) wrong(name, cat("expected a number from ", min, " to ", max));
  return value;
}

std::optional<base::Duration> Members::seconds(std::string_view name, base::Duration min, base::Duration max) {
  const auto count = [](base::Duration time) {
    return std::int64_t{std::chrono::duration_cast<std::chrono::seconds>(time).count()};
  };
  const auto value = number(name, count(min), count(max));
  if (!value || wrong_) return std::nullopt;
  return base::Duration(std::chrono::seconds(*value));
}

std::vector<std::string> Members::texts(std::string_view name) {
  std::vector<std::string> out;
  const Json* found = body_.member(name);
  if (found == nullptr) return out;
  const bool good = found->is_array() && std::ranges::all_of(found->as_array(), &Json::is_string);
  if (!good) {
    wrong(name, "expected a list of texts");
    return out;
  }
  for (const Json& each : found->as_array()) out.push_back(each.as_string());
  return out;
}

void Members::wrong(std::string_view field, std::string detail) {
  if (!wrong_) wrong_ = WrongBody{std::string(field), std::move(detail)};
}

std::string read_reason(Members& members) {
  std::string reason = members.text("reason");
  if (base::trim(reason).empty() && !members.flag("dryRun"))
    members.wrong("reason", "a reason is required; it is shown with the order");
  if (reason.size() > policy::state::kWhyBytesMax) {
    members.wrong("reason", cat("at most ", policy::state::kWhyBytesMax, " bytes"));
  }
  return reason;
}

}  // namespace tidemark::console
