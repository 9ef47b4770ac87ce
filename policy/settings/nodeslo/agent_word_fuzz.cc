// Any JSON is parsed or rejected with a reason; written text parses to the same value.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "policy/settings/config/parse.h"
#include "policy/settings/nodeslo/agent_word.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace policy = tidemark::policy;
  const auto ours = tidemark::Json::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!ours) return 0;
  const auto word = policy::settings::read_agent_word(*ours);
  if (!word) {
    TM_CHECK(!word.error().message.empty(), "a refusal says what is wrong");
    return 0;
  }
  if (!*word) return 0;
  TM_CHECK((*word)->classes.size() <= tidemark::model::kClassesMax, "classes are bounded");
  std::string text;
  tidemark::base::JsonWriter json(text);
  json.begin_object().member("schema", 1);
  policy::settings::write_agent_word(json, **word);
  json.end_object();
  const auto again = policy::settings::read_agent_word(*tidemark::Json::parse(text));
  TM_CHECK(again && *again && **again == **word, "what is written is read as the same");
  return 0;
}
