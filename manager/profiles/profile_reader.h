// The stored profiles, for who looks from outside the manager.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/client.h"
#include "manager/profiles/profile_book.h"
#include "net/task.h"

namespace tidemark::manager {

struct StoredProfiles {
  ProfileBook book;
  std::map<std::string, std::string> maps;  // ConfigMaps that are there, and their resourceVersion
  std::size_t unreadable = 0;               // records
};

// The ConfigMap that a workload's profile is in.
std::string profile_map(std::string_view workload);

// With `workload`: only the ConfigMap that it is in.
net::Task<Result<StoredProfiles>> read_profiles(kube::Reader& reader, std::string config_namespace,
                                                std::string workload, base::WallTime now, base::Duration limit);

}  // namespace tidemark::manager
