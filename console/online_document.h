// Online services as JSON.
#pragma once

#include <string>

#include "operate/online.h"

namespace tidemark::console {

std::string online_document(const operate::OnlineServices& services);

}  // namespace tidemark::console
