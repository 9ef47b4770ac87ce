// The memory that all reviews which run share: each reserves what it will take before it takes it.
#pragma once

#include <cstddef>

namespace tidemark::manager {

inline constexpr std::size_t kReviewsBytesMax = 128 * 1024 * 1024;  // of all; one more is answered 429
inline constexpr std::size_t kReviewValueBytes = 256;               // a value of an object, in the trees made of it

class ReviewBudget {
 public:
  explicit ReviewBudget(std::size_t bytes_max = kReviewsBytesMax) : bytes_max_(bytes_max) {}

  // One review's part; released by destruction.
  class Share {
   public:
    explicit Share(ReviewBudget& budget) : budget_(budget) {}
    ~Share() { budget_.used_ -= bytes_; }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // False, and nothing reserved, where there is not so much left.
    bool grow(std::size_t bytes) {
      if (bytes > budget_.bytes_max_ - budget_.used_) return false;
      budget_.used_ += bytes;
      bytes_ += bytes;
      return true;
    }

   private:
    ReviewBudget& budget_;
    std::size_t bytes_ = 0;
  };

  std::size_t used() const { return used_; }

 private:
  std::size_t bytes_max_;
  std::size_t used_ = 0;
};

}  // namespace tidemark::manager
