// Renders the effect of a pool's settings on an offer: the water line by the calendar, how far the offer has moved, and
// how it is split. Pure; overcommit_text.h renders the formulas.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "policy/calendar/calendar.h"
#include "policy/offer/offer.h"

namespace tidemark::policy {

struct OfferNames {
  Profile profile = Profile::kKoordinator;
  const Calendar* calendar = nullptr;
  const LineOverrides* overrides = nullptr;  // that the line was drawn with
  BackOffLeft backs_off{};                   // the sides whose evicted work makes the node back off
};

// Lines for a terminal; none for a pool without settings of its own.
std::string render_text(const Offer& offer, const OfferNames& names);

// {"profile":…,"line":{…},"motion":{…},"ledger":{…}}; parts without effect are absent.
Json render_json(const Offer& offer, const OfferNames& names);

}  // namespace tidemark::policy
