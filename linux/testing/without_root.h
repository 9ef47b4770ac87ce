// What one thread does without root's rights on files, where a test is root's: the rights are a thread's own.
#pragma once

#include <sys/fsuid.h>

namespace tidemark::linux::testing {

class WithoutRoot {
 public:
  WithoutRoot() : before_(::setfsuid(kNobody)) {}
  WithoutRoot(const WithoutRoot&) = delete;
  WithoutRoot& operator=(const WithoutRoot&) = delete;
  ~WithoutRoot() { ::setfsuid(static_cast<uid_t>(before_)); }

 private:
  static constexpr uid_t kNobody = 65534;

  const int before_;
};

}  // namespace tidemark::linux::testing
