// Any bytes as a request: gives a bounded result or an error with a message.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "yarn_copilot/words.h"

namespace {

using namespace tidemark;

template <class T>
void check(const Result<T>& read) {
  if (read) return;
  TM_CHECK(read.error().kind == ErrorKind::kInvalid && !read.error().message.empty(), "bad bytes are bad input");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(yarn_copilot::read_kill(bytes));
  const auto free = yarn_copilot::read_kill_by_resource(bytes);
  check(free);
  if (free) TM_CHECK(free->cpu.value >= 0 && free->memory.value >= 0, "nothing below zero is freed");
  const auto stop = yarn_copilot::read_stop(bytes);
  check(stop);
  if (stop) {
    TM_CHECK(!stop->id.empty() && stop->reason.size() <= yarn_copilot::kReasonBytesMax, "named and bounded");
    TM_CHECK(stop->grace >= base::Duration::zero() && stop->grace <= std::chrono::hours(1), "a grace that can be");
  }
  const auto limits = yarn_copilot::read_limits(bytes);
  check(limits);
  if (limits) TM_CHECK(limits->limits.cpu || limits->limits.memory, "it says something");
  check(yarn_copilot::read_permit(bytes));
  return 0;
}
