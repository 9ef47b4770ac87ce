// Any bytes are a segment: what can be read of them is, and the rest is counted.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "journal/frame.h"
#include "journal/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::journal;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto segment = Segment::parse(bytes);
  std::size_t inside = 0;
  for (const auto record : segment.records()) inside += record.size();
  TM_CHECK(inside + segment.damage().torn_bytes + segment.damage().damaged_bytes <= size, "every byte counts once");

  // The checksum keeps a fuzzer out of the records: once more with frames that are right.
  std::string framed;
  for (std::size_t at = 0; at < size;) {
    const std::size_t length = data[at];
    append_frame(framed, std::string_view(bytes).substr(at + 1, length));
    at += 1 + length;
  }
  const auto whole = Segment::parse(framed);
  TM_CHECK(whole.damage().torn_bytes == 0 && whole.damage().damaged_bytes == 0, "what is whole is read whole");
  return 0;
}
