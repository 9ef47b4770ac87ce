// A bug stops the program, in production too: going on with a broken invariant is worse than a restart.
#pragma once

namespace tidemark::base {
[[noreturn]] void check_failed(const char* expression, const char* file, int line, const char* why);
}  // namespace tidemark::base

// TM_CHECK(queue.size() <= kQueueMax, "the producer must stop at the limit");
#define TM_CHECK(condition, why) \
  ((condition) ? static_cast<void>(0) : ::tidemark::base::check_failed(#condition, __FILE__, __LINE__, why))
