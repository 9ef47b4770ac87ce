// How long regular requests got no answer.
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::kube {

// No answer, or one of a failing server (5xx, 429). "Not found" and "forbidden" are answers.
bool is_silence(const Error& error);

// A cut connection is noticed only when the next request is not answered.
inline constexpr base::Duration kNoticedWithin = std::chrono::minutes(3);

struct Unheard {
  base::Duration total{0};  // in all: between two moments it grew by what passed in silence
  bool lasts = false;       // there is silence now
};

class Silence {
 public:
  void begins(base::MonotonicTime since);  // no effect while one lasts
  void ends(base::MonotonicTime now);
  Unheard until(base::MonotonicTime now) const;

 private:
  std::optional<base::MonotonicTime> since_;
  base::Duration before_{0};
};

}  // namespace tidemark::kube
