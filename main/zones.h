// The rules of time zones from this machine's files.
#pragma once

#include "manager/settings/revision.h"

namespace tidemark::main {

// Reads /usr/share/zoneinfo. A zone that is not there, or cannot be read, is left out: whoever reads the settings then
// says so.
manager::ZonesOf zones_of_machine();

}  // namespace tidemark::main
