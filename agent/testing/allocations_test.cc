#include "agent/testing/allocations.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

namespace {
thread_local long count = 0;
}  // namespace

// For the whole test program.
void* operator new(std::size_t size) {
  ++count;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace tidemark::agent::testing {

long allocations() {
  return count;
}

namespace {

TEST(Allocations, AreCounted) {
  const long before = allocations();
  const std::vector<long> held(100, before);
  EXPECT_EQ(allocations() - held.back(), 1);
}

}  // namespace
}  // namespace tidemark::agent::testing
