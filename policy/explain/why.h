// How a reason is shown, in text and in JSON: the same for everything that is rendered here.
#pragma once

#include <string>

#include "base/json.h"
#include "base/text.h"
#include "model/reason.h"

namespace tidemark::policy::explain {

// "the rule that decided [TM-BATCH-001]".
inline std::string why(model::Reason reason) {
  return base::cat(model::reason_sentence(reason), " [", model::reason_id(reason), "]");
}

inline Json why_json(model::Reason reason) {
  return Json::object({{"id", Json(model::reason_id(reason))}, {"text", Json(model::reason_sentence(reason))}});
}

}  // namespace tidemark::policy::explain
