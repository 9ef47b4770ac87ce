#include "model/settings/pool.h"

namespace tidemark::model {

base::Duration back_off_of(const Pool& pool) {
  return pool.budget.back_off.value_or(pool.profile == Profile::kTidemark ? kBackOff : base::Duration(0));
}

}  // namespace tidemark::model
