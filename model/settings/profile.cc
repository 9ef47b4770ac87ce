#include "model/settings/profile.h"

namespace tidemark::model {

std::string_view to_string(Profile profile) {
  return profile == Profile::kTidemark ? "tidemark" : "koordinator";
}

}  // namespace tidemark::model
