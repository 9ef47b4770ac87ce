// Names of this machine in the field Host.
#pragma once

#include <string_view>

namespace tidemark::net {

// Whether the value of a Host field, with or without port, names this machine: localhost, 127.x.x.x or [::1]. A server
// on loopback refuses other names: a page of another site can reach it by a name that points here.
bool is_loopback_host(std::string_view host);

}  // namespace tidemark::net
