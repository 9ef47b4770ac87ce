// A class of work that is off (`tidemark off … --only class=X`) on a side that continues to sell.
//
//    draining, or off   offer' = max(offer − the amount held by the class, 0), and the NUMA zones with it: capacity
//                       that it releases is sold again, to the other classes
//    off                all its work is reclaimed, and any that comes later: keep 0
//
// New work of the class is rejected on admission (webhooks); amounts alone cannot distinguish classes.
#pragma once

#include <string>
#include <vector>

#include "model/reason.h"
#include "model/resources.h"
#include "policy/sell/ledger/ledger.h"
#include "policy/sell/overcommit/overcommit.h"
#include "policy/state/state.h"

namespace tidemark::policy::state {

struct ClassOff {
  std::string work_class;
  model::Resources held;  // subtracted from the offer of the side, as the side counts
  model::Reason reason = model::Reason::kStateClassDraining;
  bool operator==(const ClassOff&) const = default;
};
struct ClassesOff {
  std::vector<ClassOff> classes;  // by name
  model::Resources taken() const;
  // The classes to reclaim, by name.
  std::vector<sell::ClassReclaim> reclaim() const;
  bool operator==(const ClassesOff&) const = default;
};

// Total. For a side whose book does not contain the sold amount nothing is subtracted; a class that is off is reclaimed
// all the same.
ClassesOff classes_off(const SideStates& state, const sell::SideBook& book);

void withdraw(sell::OvercommitPlan& plan, model::Resources taken);

// The reclaims of a side: everything of a class that is off, of the others what the ledger requests.
std::vector<sell::ClassReclaim> united(std::vector<sell::ClassReclaim> off,
                                       const std::vector<sell::ClassReclaim>& ledger);

}  // namespace tidemark::policy::state
