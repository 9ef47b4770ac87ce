// Any bytes as a line of a record or an audit: parsed or rejected with a reason; a parsed line can be written and
// parsed again.
#include "model/node_record.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "model/audit_line.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::model;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const auto record = parse_node_record(line);
  TM_CHECK(record || !record.error().message.empty(), "a refusal says what is wrong");
  if (record && record->lost == 0) {
    const auto again = parse_node_record(to_line(record->record));
    TM_CHECK(again && again->record.tasks == record->record.tasks, "what we write we can read");
  }
  const auto audit = parse_audit_line(line);
  TM_CHECK(audit || !audit.error().message.empty(), "a refusal says what is wrong");
  if (audit && audit->lost == 0) {
    TM_CHECK(parse_audit_line(to_string(audit->line)).has_value(), "what we write we can read");
  }
  return 0;
}
