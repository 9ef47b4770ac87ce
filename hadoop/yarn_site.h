// What yarn-site.xml says of a cluster's ResourceManagers.
#pragma once

#include <optional>

#include "base/result.h"
#include "hadoop/resource_manager.h"
#include "hadoop/site.h"
#include "hadoop/yarn_records.h"

namespace tidemark::hadoop {

// What yarn-default.xml says of the keys that are read here.
void set_yarn_defaults(Site& site);

// The members of the cluster and where they listen. With HA an address that is not set for an id is that id's hostname
// with the port of the key; one that has neither is an error that names both keys.
Result<RmCluster> resource_managers(const Site& site);

// The smallest container that its scheduler gives out. Every application needs one.
Result<Resource> least_container(const Site& site);
// The largest that may be asked for where its queue says no less (capacity_scheduler.h).
Result<Resource> largest_container(const Site& site);

// kInvalid where a NodeManager would not know whom to register with: neither an address of a resource tracker nor a
// host is said, of each member with HA.
Result<void> check_tracker(const Site& site);
// Kerberos, where hadoop.security.authentication says so; nullopt: `simple`. What it needs and nobody said is an error.
Result<std::optional<Security>> security_of(const Site& site);

// "host:port", "host" (then `port_otherwise`), "[::1]:8033". Wrong text is an error without its place.
Result<Address> parse_address(std::string_view text, std::uint16_t port_otherwise);

}  // namespace tidemark::hadoop
