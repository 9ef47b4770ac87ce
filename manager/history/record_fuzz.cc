// Any text is a record or is refused; a record that is read is written again as the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/text.h"
#include "manager/history/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(manager::decode_history("0123456789abcdef", bytes));
  // Past the checksum: the fuzzer's own record.
  const std::string name = bytes.substr(0, bytes.size() / 4);
  const manager::HistoryRecord record{name, bytes.substr(bytes.size() / 4), size};
  const auto text = manager::encode_history(record, {3, 5});
  if (record.bytes.size() > manager::kHistoryRecordBytesMax || name.size() > manager::kHistoryNameBytesMax) return 0;
  const auto read = manager::decode_history(manager::history_key(name), text);
  TM_CHECK(read.has_value() && read->record == record, "what was written is read");
  std::string broken = text;
  if (!broken.empty()) {
    broken[size % broken.size()] = broken[size % broken.size()] == 'A' ? 'B' : 'A';
    const auto other = manager::decode_history(manager::history_key(name), broken);
    TM_CHECK(!other || other->record == record, "what was changed on the way is not taken for the record");
  }
  return 0;
}
