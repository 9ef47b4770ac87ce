// Reads a cluster's ResourceManagers from yarn-site.xml.
#pragma once

#include <optional>

#include "base/result.h"
#include "hadoop/resource_manager.h"
#include "hadoop/site.h"
#include "hadoop/yarn_records.h"

namespace tidemark::hadoop {

// Defaults of yarn-default.xml for the keys that are read here.
void set_yarn_defaults(Site& site);

// The members of the cluster and their addresses. With HA, an unset address of an id is the id's hostname with the port
// of the key; if both are unset, the error names both keys.
Result<RmCluster> resource_managers(const Site& site);

// The smallest container that the scheduler allocates. Every application needs one.
Result<Resource> least_container(const Site& site);
// kInvalid if a NodeManager could not register: neither a resource tracker address nor a host is set, for each member
// with HA.
Result<void> check_tracker(const Site& site);
// Kerberos if hadoop.security.authentication requires it; nullopt: `simple`. A missing required key is an error.
Result<std::optional<Security>> security_of(const Site& site);

// "host:port", "host" (then `port_otherwise`), "[::1]:8033". Wrong text is an error without its place.
Result<Address> parse_address(std::string_view text, std::uint16_t port_otherwise);

}  // namespace tidemark::hadoop
