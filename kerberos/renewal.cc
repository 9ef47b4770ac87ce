#include "kerberos/renewal.h"

#include <algorithm>

namespace tidemark::kerberos {

//  begin + 4/5 (end − begin) − now
base::Duration until_renewal(std::int64_t begin_s, std::int64_t end_s, base::WallTime now) {
  const base::Duration begin = std::chrono::seconds(begin_s);
  const base::Duration life = std::max(base::Duration(std::chrono::seconds(end_s)) - begin, base::Duration(0));
  return std::max(begin + life / 5 * 4 - now.since_epoch, kLoginsApart);
}

//  1 s, 2 s, 4 s …
base::Duration until_retry(int failures) {
  base::Duration wait = kLoginsApart;
  for (int i = 1; i < failures && wait < kRetryMax; ++i) wait *= 2;
  return std::min(wait, kRetryMax);
}

}  // namespace tidemark::kerberos
