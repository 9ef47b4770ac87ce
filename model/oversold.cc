#include "model/oversold.h"

#include "base/json.h"
#include "base/text.h"

namespace tidemark::model {

std::string format_oversold(base::WallTime since) {
  return base::cat(R"({"schema":1,"since":")", base::format_rfc3339(since), R"("})");
}

std::optional<base::WallTime> oversold_since(std::string_view text) {
  const auto json = Json::parse(text);
  if (!json) return std::nullopt;
  return base::parse_rfc3339(json->text_at("since"));
}

}  // namespace tidemark::model
