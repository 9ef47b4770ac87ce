#include "agent/protect/limit_permit.h"

#include <cstddef>

#include "model/node_strategy.h"

namespace tidemark::agent {

copilot::LimitPermit limit_permit(const policy::state::AgentPermits& permits) {
  if (permits.off) return copilot::LimitPermit::kOff;
  switch (permits.permits[static_cast<std::size_t>(model::Strategy::kBatchLimits)]) {
    case policy::state::Permit::kKeep:
      return copilot::LimitPermit::kKeep;
    case policy::state::Permit::kTighten:  // a limit only tightens, as the permit allows
    case policy::state::Permit::kEnforce:
      return copilot::LimitPermit::kEnforce;
    case policy::state::Permit::kRestore:
      return copilot::LimitPermit::kRestore;
  }
  return copilot::LimitPermit::kKeep;
}

}  // namespace tidemark::agent
