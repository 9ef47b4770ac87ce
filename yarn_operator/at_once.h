// Runs jobs with bounded concurrency.
#pragma once

#include <cstddef>
#include <functional>

#include "net/loop.h"

namespace tidemark::yarn_operator {

// Runs `work` for 0, 1, … `count` − 1 in this order, at most `most` at the same time. Returns when all are done.
net::Task<void> at_once(net::EventLoop& loop, std::size_t count, std::size_t most,
                        std::function<net::Task<void>(std::size_t)> work);

}  // namespace tidemark::yarn_operator
