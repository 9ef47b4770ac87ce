#include "base/testing/allocations.h"

#include <cstdlib>
#include <new>

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
  std::free(memory);  // NOLINT(clang-analyzer-cplusplus.NewDelete): the analyzer takes a moved vector's for ours
}

namespace tidemark::base::testing {

long allocations() {
  return count;
}

}  // namespace tidemark::base::testing
