// Time zone rules from this machine's files.
#pragma once

#include "manager/settings/revision.h"

namespace tidemark::main {

// Reads /usr/share/zoneinfo. Leaves out missing and unreadable zones; the reader of the settings reports them.
manager::ZonesOf zones_of_machine();

}  // namespace tidemark::main
