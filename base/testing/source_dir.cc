#include "base/testing/source_dir.h"

#include "base/text.h"

namespace tidemark::base::testing {

std::string from_root(std::string_view path) {
  return cat(TIDEMARK_SOURCE_DIR, "/", path);
}

}  // namespace tidemark::base::testing
