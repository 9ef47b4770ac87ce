// Flags of the peer's manager that say something of a part which is not here.
#pragma once

#include <span>

#include "base/peer_flags.h"

namespace tidemark::manager {

std::span<const base::PeerFlag> peer_flags();

}  // namespace tidemark::manager
