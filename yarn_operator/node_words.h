// What the operator writes onto one node: what YARN's containers hold of it (the peer's annotation), and YARN's book.
// Both in one write, under the version of the node that they were made from, so that nobody else's entry is lost.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "kube/objects.h"
#include "model/reason.h"
#include "model/resources.h"
#include "model/take_back.h"
#include "yarn_operator/book.h"

namespace tidemark::yarn_operator {

struct NodeSight {
  std::optional<model::Resources> held;  // by YARN's containers; nullopt: nobody knows, and what is written stays
  // Whether the manager's offers are obeyed here. Where they are not any more, the book goes.
  enum class Book : std::uint8_t { kKeep, kWrite, kRemove } book = Book::kKeep;
  BookInput of_book;       // without `before` and `held`
  std::string nm;          // whose book it is (kYarnBookOfAnnotation); "": as it stands
  bool renew_due = false;  // it was written long ago
  // Whether an agent that wants containers back is heard: said before it asks. nullopt: nobody knows, as it stands.
  std::optional<bool> hears{};
  std::optional<model::TakenBack> lost_answer{};  // to it
  // What ended there within the hour for more timely work (GivenBackBook::to_write).
  std::optional<std::string> given_back{};
};

// Who is written first.
enum class Turn : std::uint8_t {
  kUrgent,   // somebody waits for it: an offer came into force, an agent is not answered
  kNews,     // it says what the node does not say yet
  kRenewal,  // it says nothing new
};

struct NodeWrite {
  std::string body;    // a merge patch
  std::string before;  // what it changes, for the audit
  model::Reason reason = model::Reason::kYarnUsed;
  Turn turn = Turn::kNews;
};

// What is written of it now; nothing where that is nothing, or cannot be read.
model::Resources held_as_written(const kube::Node& node);

// nullopt: the node says it all already.
std::optional<NodeWrite> node_write(const kube::Node& node, const NodeSight& sight, base::WallTime now);

}  // namespace tidemark::yarn_operator
