// How often this thread has allocated, for tests of what must not at steady state. Only differences mean something.
#pragma once

namespace tidemark::agent::testing {

long allocations();

}  // namespace tidemark::agent::testing
