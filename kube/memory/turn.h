// Work over many objects shares the loop: after a number of bytes other tasks get a turn.
//
//   Turn turn;
//   for (…) { …; if (turn.is_over(bytes)) co_await loop.sleep(base::Duration(0)); }
#pragma once

#include <cstddef>

namespace tidemark::kube::memory {

class Turn {
 public:
  static constexpr std::size_t kObjectsMax = 200;
  static constexpr std::size_t kBytesMax = 1024 * 1024;  // of objects: parsing them is what takes long

  // One more object was worked on. When the answer is true the next turn has begun.
  bool is_over(std::size_t bytes) {
    ++objects_;
    bytes_ += bytes;
    if (objects_ < kObjectsMax && bytes_ < kBytesMax) return false;
    objects_ = bytes_ = 0;
    return true;
  }

 private:
  std::size_t objects_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tidemark::kube::memory
