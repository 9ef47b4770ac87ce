// This process gets no more than so many descriptors, for as long as one of these lives.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "base/fd.h"

namespace tidemark::linux::testing {

class DescriptorLimit {
 public:
  explicit DescriptorLimit(int more) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const Fd lowest_free(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit now{static_cast<rlim_t>(lowest_free.get() + more), before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace tidemark::linux::testing
