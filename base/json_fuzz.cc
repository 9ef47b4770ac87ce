// The reader that skips, the reader that builds a tree and the writer must agree on every text.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/json.h"

using tidemark::base::Json;
using tidemark::base::JsonReader;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  JsonReader skipping(text);
  skipping.skip();
  const auto skipped = skipping.finish();
  const auto tree = Json::parse(text);
  TM_CHECK(skipped.has_value() == tree.has_value(), "skip and parse must accept the same texts");
  if (!tree) {
    TM_CHECK(skipped.error().message == tree.error().message, "and refuse them for the same reason at the same place");
    return 0;
  }

  const std::string written = tree->dump();
  const auto again = Json::parse(written);
  TM_CHECK(again.has_value(), "what is written can be read");
  TM_CHECK(*again == *tree, "and is the same value");
  // The second text, not the first: a double "-0.0" is written as "-0", which is the integer 0.
  const std::string settled = again->dump();
  TM_CHECK(Json::parse(settled)->dump() == settled, "writing is a fixed point");
  TM_CHECK(Json::parse(tree->dump_pretty()) == *tree, "and blanks do not matter");
  return 0;
}
