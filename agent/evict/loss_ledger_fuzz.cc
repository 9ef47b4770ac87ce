// Any bytes as a ledger: what was parsed stays the same when written and parsed again.
#include "agent/evict/loss_ledger.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::agent;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Losses read = parse_losses(text);
  TM_CHECK(read.losses.size() + read.broken <= size, "one a line");
  for (const Loss& loss : read.losses) {
    TM_CHECK(loss.age.count() >= 0 && loss.ending.count() >= 0 && loss.lost_core_seconds >= 0, "never negative");
    const auto again = parse_loss(to_line(loss));
    TM_CHECK(!again || again->task == loss.task, "the same task");
  }
  return 0;
}
