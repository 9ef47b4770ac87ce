// A class of work that is off (`tidemark off … --only class=X`) on a side that goes on selling.
//
//   draining, or off   offer' = max(offer − what the class holds there, 0), and the NUMA zones with it: what it frees
//                      is sold again, to the other classes, when it is free
//   off                all that it holds is to be given back, and whatever of it comes later: keep 0
//
// New work of the class is turned away where it comes in (webhooks); amounts alone cannot tell classes apart.
#pragma once

#include <string>
#include <vector>

#include "model/reason.h"
#include "model/resources.h"
#include "policy/ledger/ledger.h"
#include "policy/overcommit/overcommit.h"
#include "policy/state/state.h"

namespace tidemark::policy {

struct ClassOff {
  std::string work_class;
  model::Resources held;  // taken from the offer of the side, as the side counts
  model::Reason reason = model::Reason::kStateClassDraining;
  bool operator==(const ClassOff&) const = default;
};
struct ClassesOff {
  std::vector<ClassOff> classes;  // by name
  model::Resources taken() const;
  // What is to be given back, by name.
  std::vector<ClassReclaim> reclaim() const;
  bool operator==(const ClassesOff&) const = default;
};

// Total. Of a side whose book says nothing of what is sold nothing is taken; what is off is to be given back all the
// same.
ClassesOff classes_off(const SideStates& state, const SideBook& book);

void take_back(OvercommitPlan& plan, model::Resources taken);

// What a side is told to give back: of a class that is off all, of the others what the ledger asks for.
std::vector<ClassReclaim> united(std::vector<ClassReclaim> off, const std::vector<ClassReclaim>& ledger);

}  // namespace tidemark::policy
