// What the manager's journal tells: the decision that was in force on a node at a time, and every decision made again.
// Files only: no API server is asked.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "model/resources.h"
#include "policy/offer/offer.h"

namespace tidemark::cli {

// "2026-11-20T22:15:00Z", or how long ago: "90m". nullopt: neither.
std::optional<base::WallTime> parse_moment(std::string_view text, base::WallTime now);

struct LookBack {
  std::string directory;
  std::string node;
  base::WallTime at;
  bool json = false;
};
// kNotFound where the journal does not reach; the error says how far it does.
Result<std::string> explain_node_at(const LookBack& options);

// What the manager remembers of a node, by the last decision in its journal: for who decides as it would now.
struct Remembered {
  policy::OfferState state;  // as if the time had not passed in which it could hear of no node
  base::Duration unheard;    // which is that much
  std::optional<model::Resources> least_ever;
  policy::LastEvicted evicted;
  base::MonotonicTime now;  // of the clock that these are of
  base::WallTime decided;
  std::string who;  // and when, for people
};
// An error says why the state is unknown: nothing is recorded, another process led since, or the silence is too long.
Result<Remembered> remembered_of(const std::string& directory, const std::string& node, base::WallTime now);

struct ReplayOptions {
  std::string directory;
  std::string node;  // empty: all
  std::optional<base::WallTime> since;
  std::optional<base::WallTime> until;
  std::size_t shown_max = 20;  // decisions that differ, told one by one
  bool json = false;
};
struct ReplayReport {
  std::string text;
  bool exact = false;  // every decision came out the same, and every one could be read
};
Result<ReplayReport> replay_journal(const ReplayOptions& options);

}  // namespace tidemark::cli
