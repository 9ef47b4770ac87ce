// Checks that the classes of an order exist: an order with a misspelt class would succeed and have no effect.
#pragma once

#include <string>

#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"
#include "operate/order.h"
#include "policy/waterline/pools.h"

namespace tidemark::operate {

// kNotFound with the nearest one, and all that there are.
Result<void> class_exists(const policy::waterline::TidemarkConfig& config, std::string_view name);

// Each class of `only` is in the settings; kNotFound where one is not. One that is gone from them can still be switched
// on where some node has it off. Where the settings cannot be read an order is not held up: the answer is a note that
// says so, else "".
net::Task<Result<std::string>> check_classes(net::EventLoop& loop, kube::Client& client, const OrderOptions& options);

}  // namespace tidemark::operate
