#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tidemark::base {

void check_failed(const char* expression, const char* file, int line, const char* why) {
  // Nothing of ours is called here: the program is broken, maybe its heap too.
  std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", file, line, expression, why);
  std::fflush(stderr);
  std::abort();
}

}  // namespace tidemark::base
