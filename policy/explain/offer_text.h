// Renders the effect of a pool's settings on an offer: the water line by the calendar, how far the offer has moved, and
// how it is split. Pure; overcommit_text.h renders the formulas.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "policy/sell/offer/offer.h"
#include "policy/waterline/calendar/calendar.h"

namespace tidemark::policy::explain {

struct OfferNames {
  model::Profile profile = model::Profile::kKoordinator;
  const waterline::Calendar* calendar = nullptr;
  const waterline::LineOverrides* overrides = nullptr;  // that the line was drawn with
  sell::BackOffLeft backs_off{};                        // the sides whose evicted work makes the node back off
};

// Lines for a terminal; none for a pool without settings of its own.
std::string render_text(const sell::Offer& offer, const OfferNames& names);

// {"profile":…,"line":{…},"motion":{…},"ledger":{…}}; parts without effect are absent.
Json render_json(const sell::Offer& offer, const OfferNames& names);

}  // namespace tidemark::policy::explain
