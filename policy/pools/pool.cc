#include "policy/pools/pool.h"

namespace tidemark::policy {

base::Duration back_off_of(const Pool& pool) {
  return pool.budget.back_off.value_or(pool.profile == Profile::kTidemark ? kBackOff : base::Duration(0));
}

}  // namespace tidemark::policy
