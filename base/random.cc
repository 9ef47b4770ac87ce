#include "base/random.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "base/check.h"

namespace tidemark::base {
namespace {

// splitmix64 spreads one seed over the state: xoshiro must not start from nearly all zeros.
std::uint64_t splitmix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) : state_() {
  for (std::uint64_t& word : state_) word = splitmix(seed);
}

// xoshiro256**, by Blackman and Vigna.
std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  TM_CHECK(bound > 0, "there is no number below zero");
  // 2^64 mod bound draws at the low end are thrown away; what remains divides evenly.
  const std::uint64_t surplus = (0 - bound) % bound;
  std::uint64_t drawn = next();
  while (drawn < surplus) drawn = next();
  return drawn % bound;
}

double Random::unit() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

Duration Random::jitter(Duration d, double fraction) {
  const double drawn = unit();  // always one draw, so that a zero fraction does not shift the sequence
  if (d <= Duration(0)) return Duration(0);
  if (!(fraction > 0)) return d;
  const double factor = 1.0 + std::min(fraction, 1.0) * (2.0 * drawn - 1.0);
  const double nanoseconds = static_cast<double>(d.count()) * factor;
  // The double nearest to the largest Duration lies just above it.
  if (nanoseconds >= static_cast<double>(Duration::max().count())) return Duration::max();
  return Duration(static_cast<Duration::rep>(nanoseconds));
}

Random Random::fork() {
  return Random(next());
}

std::uint64_t Random::seed_from_system() {
  std::uint64_t seed = 0;
  while (true) {
    const ssize_t got = getrandom(&seed, sizeof seed, 0);
    if (got == static_cast<ssize_t>(sizeof seed)) return seed;
    // Up to 256 bytes come whole; only a signal before the pool is ready can interrupt.
    TM_CHECK(got < 0 && errno == EINTR, "getrandom is there since Linux 3.17");
  }
}

}  // namespace tidemark::base
