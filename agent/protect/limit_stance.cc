#include "agent/protect/limit_stance.h"

#include <cstddef>

#include "model/node_strategy.h"

namespace tidemark::agent {

copilot::LimitStance limit_stance(const policy::state::AgentPermits& permits) {
  if (permits.off) return copilot::LimitStance::kOff;
  switch (permits.permits[static_cast<std::size_t>(model::Strategy::kBatchLimits)]) {
    case policy::state::Permit::kKeep:
      return copilot::LimitStance::kKeep;
    case policy::state::Permit::kTighten:  // a limit only tightens, as the permit allows
    case policy::state::Permit::kEnforce:
      return copilot::LimitStance::kEnforce;
    case policy::state::Permit::kPutBack:
      return copilot::LimitStance::kObserve;
  }
  return copilot::LimitStance::kKeep;
}

}  // namespace tidemark::agent
