// The stored profiles, for who looks from outside the manager.
#pragma once

#include <string>

#include "base/result.h"
#include "kube/client.h"
#include "manager/profiles/profile_book.h"
#include "net/task.h"

namespace tidemark::manager {

struct StoredProfiles {
  ProfileBook book;
  std::size_t maps = 0;        // ConfigMaps that are there
  std::size_t unreadable = 0;  // records
};

// With `workload`: only the ConfigMap that it is in.
net::Task<Result<StoredProfiles>> read_profiles(kube::Reader& reader, std::string config_namespace,
                                                std::string workload, base::WallTime now, base::Duration limit);

}  // namespace tidemark::manager
