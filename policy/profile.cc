#include "policy/profile.h"

namespace tidemark::policy {

std::string_view to_string(Profile profile) {
  return profile == Profile::kTidemark ? "tidemark" : "koordinator";
}

}  // namespace tidemark::policy
