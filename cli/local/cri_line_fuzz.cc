// Any line of a log: understood or not, and never more than was there; what our own shim writes is always understood.
#include "cli/local/cri_line.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto line = cli::parse_cri_line(input)) {
    TM_CHECK(input.starts_with(line->time_text), "the time comes first");
    TM_CHECK(input.ends_with(line->text), "the text comes last");
    TM_CHECK(input.size() > line->time_text.size() + line->text.size(), "between them stand stream and tag");
  }
  const std::string ours = base::cat("2026-11-23T20:15:30.123456789Z stderr P ", input);
  const auto line = cli::parse_cri_line(ours);
  TM_CHECK(line && line->error && line->partial && line->text == input, "as it was written");
  return 0;
}
