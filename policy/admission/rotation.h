// When a certificate authority and the serving certificate under it are replaced, so that every client always trusts
// the authority of the certificate that it sees.
//
//    ca ── two thirds of its life ──▶ next ca, trusted beside it ── trusted everywhere, and `settle` passed ──▶ the
//    serving certificate is issued by it, the old ca stays trusted ── `settle` passed ──▶ the old ca goes
//
//    serving ── two thirds of its life, or names that do not fit ──▶ issued anew by the same ca
//
// One step at a time: the caller stores the result and calls again, so that a crash between two steps leaves a state
// from which it continues.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace tidemark::policy::admission {

struct Validity {
  base::WallTime from;
  base::WallTime until;
};

// The stored state, as far as it is readable: unreadable is absent.
struct RotationFacts {
  std::optional<Validity> ca;
  std::optional<Validity> serving;
  bool serving_fits = false;  // the key is its own, `ca` signed it, and it has all names that are asked for
  std::optional<Validity> next_ca;
  std::optional<base::WallTime> next_since;  // when it was stored
  bool next_trusted = false;                 // every place where clients look it up has it
  bool old_ca = false;
  std::optional<base::WallTime> old_since;  // when it ceased to sign
};

struct RotationConfig {
  base::Duration settle = std::chrono::minutes(1);  // until every client and server has seen a change
};

enum class RotationStep : std::uint8_t {
  kNothing,
  kMakeAll,       // a new authority and certificate, at once: there is nothing to overlap with
  kIssueServing,  // by the present authority
  kMakeNext,      // another authority, trusted beside the present one
  kPromoteNext,   // it becomes the present one and issues; the present one becomes the old one
  kDropOld,
};

struct RotationPlan {
  RotationStep step = RotationStep::kNothing;
  base::Duration again_after{0};  // with kNothing: when time alone may change the result
};

RotationPlan next_rotation(const RotationFacts& facts, const RotationConfig& config, base::WallTime now);

}  // namespace tidemark::policy::admission
