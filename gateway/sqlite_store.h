// The store in one SQLite file: written ahead, and each answer follows a sync. A worker thread does the work; what
// waits while it is busy goes into one transaction.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "gateway/store.h"
#include "net/loop.h"

namespace tidemark::gateway {

// Opens or creates the file (blocks). `seed` names a new store. Errors name the path: a file of a newer schema, one of
// another program, one that is damaged, one that another process uses.
Result<std::unique_ptr<Store>> open_sqlite_store(net::EventLoop& loop, const std::string& path, std::uint64_t seed);

}  // namespace tidemark::gateway
