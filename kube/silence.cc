#include "kube/silence.h"

#include <algorithm>

namespace tidemark::kube {

bool is_silence(const Error& error) {
  constexpr int kTooManyRequests = 429;
  return error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kDeadline ||
         error.kind == ErrorKind::kInternal || error.code == kTooManyRequests;
}

void Silence::begins(base::MonotonicTime since) {
  if (!since_) since_ = since;
}

void Silence::ends(base::MonotonicTime now) {
  before_ = until(now).total;
  since_.reset();
}

Unheard Silence::until(base::MonotonicTime now) const {
  if (!since_) return {before_, false};
  return {before_ + std::max(now - *since_, base::Duration(0)), true};
}

}  // namespace tidemark::kube
