#include "model/node_grant.h"

#include <algorithm>

namespace tidemark::model {

std::int64_t NodeGrant::held(base::WallTime at) const {
  const std::int64_t last = now.counts(at) ? now.per_hour : 0;
  return before && before->counts(at) ? std::max(last, before->per_hour) : last;
}

}  // namespace tidemark::model
