// What a pool's settings made of an offer, as something to read: the water line by the calendar, how far the offer has
// moved, and how it is split. Pure; the formulas themselves are rendered by overcommit_text.h.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "policy/offer/offer.h"

namespace tidemark::policy {

struct OfferNames {
  Profile profile = Profile::kKoordinator;
  const Calendar* calendar = nullptr;
  const LineOverrides* overrides = nullptr;  // that the line was drawn with
  BackOffLeft backs_off{};                   // whose evicted work makes the node back off
};

// Lines for a terminal; nothing of a pool that has no settings of its own.
std::string render_text(const Offer& offer, const OfferNames& names);

// {"profile":…,"line":{…},"motion":{…},"ledger":{…}}; absent what was not at work.
Json render_json(const Offer& offer, const OfferNames& names);

}  // namespace tidemark::policy
