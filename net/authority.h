// The authority of a URL, as the HTTP client sends it.
#pragma once

#include <string>

#include "net/http.h"

namespace tidemark::net {

std::string authority_of(const Url& url);  // HOST, or HOST:PORT with another port than the scheme's

}  // namespace tidemark::net
