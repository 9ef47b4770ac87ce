#include "agent/protect/limit_stance.h"

#include <cstddef>

#include "model/node_strategy.h"

namespace tidemark::agent {

copilot::LimitStance limit_stance(const policy::Stance& stands) {
  if (stands.off) return copilot::LimitStance::kOff;
  switch (stands.permits[static_cast<std::size_t>(model::Strategy::kBatchLimits)]) {
    case policy::Permit::kKeep:
      return copilot::LimitStance::kKeep;
    case policy::Permit::kTighten:  // a limit only tightens, as the permit allows
    case policy::Permit::kEnforce:
      return copilot::LimitStance::kEnforce;
    case policy::Permit::kPutBack:
      return copilot::LimitStance::kObserve;
  }
  return copilot::LimitStance::kKeep;
}

}  // namespace tidemark::agent
