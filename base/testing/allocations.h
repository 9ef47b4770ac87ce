// How often this thread has allocated, for tests of what must not at steady state. Only differences mean something.
// A test program that links this (tidemark_allocations) counts all of its own; none that looks for misuse of the heap
// should.
#pragma once

namespace tidemark::base::testing {

long allocations();

template <class Call>
long allocated_by(Call call) {
  const long before = allocations();
  call();
  return allocations() - before;
}

}  // namespace tidemark::base::testing
