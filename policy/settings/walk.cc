#include "policy/settings/walk.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "model/quantity.h"

namespace tidemark::policy::settings {
namespace {

using base::cat;
using model::Reason;

constexpr std::int64_t kShareHighest = 100;

bool same_key(std::string_view a, std::string_view b) {
  return a.size() == b.size() && (a == b || base::lower(a) == base::lower(b));
}

std::string range(const SettingsField& field) {
  if (field.highest == kNoHighest) return cat("a whole number from ", field.lowest, " on");
  return cat("a whole number in ", field.lowest, "..", field.highest);
}

std::string range_of_numbers(const SettingsField& field) {
  const std::string low =
      cat(field.above_lowest ? "above " : "from ", field.lowest_number, field.above_lowest ? "" : " on");
  return std::isinf(field.highest_number) ? cat("a number ", low)
                                          : cat("a number ", low, ", up to ", field.highest_number);
}

class Walker {
 public:
  Walker(SettingsReport& report) : report_(report) {}

  void object(const Json& object, const SettingsShape& shape, const std::string& place,
              std::span<const std::string_view> also) {
    for (const auto& [key, value] : object.as_object()) {
      const auto field = std::find_if(shape.fields.begin(), shape.fields.end(),
                                      [&](const SettingsField& each) { return same_key(each.name, key); });
      if (field == shape.fields.end()) {
        unknown(key, shape, settings_place(place, key), also);
      } else if (!value.is_null()) {
        this->value(value, *field, settings_place(place, key));
      }
    }
    for (const SettingsPair& pair : shape.pairs) check_pair(object, pair, place);
  }

 private:
  void unknown(std::string_view key, const SettingsShape& shape, std::string place,
               std::span<const std::string_view> also) {
    if (shape.open) return;
    std::vector<std::string_view> names(also.begin(), also.end());
    for (const SettingsField& field : shape.fields) names.push_back(field.name);
    if (std::any_of(also.begin(), also.end(), [&](std::string_view each) { return same_key(each, key); })) return;
    const auto meant = base::nearest(key, names);
    report_.warn(Reason::kSettingsUnknown, std::move(place), "an unknown field",
                 meant ? cat("did you mean ", *meant, "?") : "it is ignored");
  }

  void wrong_type(const Json& value, std::string place, std::string wanted) {
    report_.error(Reason::kSettingsUnreadable, std::move(place), settings_shown(value), std::move(wanted));
  }
  void out_of_range(const Json& value, const SettingsField& field, std::string place, std::string allowed) {
    if (field.ours) {
      report_.ours(Reason::kSettingsInvalid, std::move(place), settings_shown(value), std::move(allowed));
    } else {
      report_.error(Reason::kSettingsInvalid, std::move(place), settings_shown(value), std::move(allowed));
    }
  }

  void value(const Json& value, const SettingsField& field, std::string place) {
    switch (field.kind) {
      case SettingsKind::kBool:
        if (!value.is_bool()) wrong_type(value, std::move(place), "true or false");
        return;
      case SettingsKind::kInteger:
        if (!value.is_int()) return wrong_type(value, std::move(place), range(field));
        if (value.as_int() < field.lowest || value.as_int() > field.highest) {
          out_of_range(value, field, std::move(place), range(field));
        }
        return;
      case SettingsKind::kNumber:
        return number(value, field, std::move(place));
      case SettingsKind::kText:
        if (!value.is_string()) wrong_type(value, std::move(place), "a string");
        return;
      case SettingsKind::kChoice:
        return choice(value, field, std::move(place));
      case SettingsKind::kDurations:
        return durations(value, std::move(place));
      case SettingsKind::kQuantity:
        if (!model::Quantity::from_json(value)) wrong_type(value, std::move(place), "a quantity like \"50M\"");
        return;
      case SettingsKind::kShareOrQuantity:
        return share_or_quantity(value, field, std::move(place));
      case SettingsKind::kObject:
        if (!value.is_object()) return wrong_type(value, std::move(place), "an object");
        return object(value, *field.shape, place, {});
      case SettingsKind::kObjects:
        return objects(value, field, place);
      case SettingsKind::kNumbers:
      case SettingsKind::kShapes:
      case SettingsKind::kBools:
        return map(value, field, place);
      case SettingsKind::kAnything:
        return;
    }
  }

  void number(const Json& value, const SettingsField& field, std::string place) {
    if (!value.is_number()) return wrong_type(value, std::move(place), range_of_numbers(field));
    const double found = value.as_double();
    const bool low = field.above_lowest ? found <= field.lowest_number : found < field.lowest_number;
    if (low || found > field.highest_number) out_of_range(value, field, std::move(place), range_of_numbers(field));
  }

  void choice(const Json& value, const SettingsField& field, std::string place) {
    if (!value.is_string()) return wrong_type(value, std::move(place), "a string");
    const std::string& found = value.as_string();
    if (found.empty()) return;  // as good as absent
    if (std::find(field.choices.begin(), field.choices.end(), found) != field.choices.end()) return;
    const std::vector<std::string> names(field.choices.begin(), field.choices.end());
    out_of_range(value, field, std::move(place), cat("one of ", base::join(names, ", ")));
  }

  void durations(const Json& value, std::string place) {
    if (!value.is_array()) return wrong_type(value, std::move(place), "an array of durations like \"5m\"");
    for (std::size_t i = 0; i < value.as_array().size(); ++i) {
      const Json& each = value.as_array()[i];
      const auto read = base::parse_go_duration(each.get_string().value_or(""));
      if (!read) {
        wrong_type(each, cat(place, "[", i, "]"), "a duration like \"5m\"");
      } else if (*read <= base::Duration(0)) {
        report_.ours(Reason::kSettingsInvalid, cat(place, "[", i, "]"), settings_shown(each), "a duration above 0");
      }
    }
  }

  void share_or_quantity(const Json& value, const SettingsField& field, std::string place) {
    constexpr std::string_view kWanted = "a whole number in 0..100, or a quantity like \"50M\"";
    if (value.is_string()) {
      if (!model::Quantity::parse(value.as_string()))
        out_of_range(value, field, std::move(place), std::string(kWanted));
    } else if (!value.is_int()) {
      wrong_type(value, std::move(place), std::string(kWanted));
    } else if (value.as_int() < 0 || value.as_int() > kShareHighest) {
      out_of_range(value, field, std::move(place), std::string(kWanted));
    }
  }

  void objects(const Json& value, const SettingsField& field, const std::string& place) {
    if (!value.is_array()) return wrong_type(value, place, "an array of objects");
    for (std::size_t i = 0; i < value.as_array().size(); ++i) {
      const Json& each = value.as_array()[i];
      if (each.is_null()) continue;
      if (each.is_object()) {
        object(each, *field.shape, cat(place, "[", i, "]"), {});
      } else {
        wrong_type(each, cat(place, "[", i, "]"), "an object");
      }
    }
  }

  void map(const Json& value, const SettingsField& field, const std::string& place) {
    if (!value.is_object()) return wrong_type(value, place, "an object");
    for (const auto& [key, each] : value.as_object()) {
      std::string inside = cat(place, "[", key, "]");
      if (each.is_null()) continue;
      if (field.kind == SettingsKind::kNumbers) {
        number(each, field, std::move(inside));
      } else if (field.kind == SettingsKind::kBools) {
        if (!each.is_bool()) wrong_type(each, std::move(inside), "true or false");
      } else if (each.is_object()) {
        object(each, *field.shape, inside, {});
      } else {
        wrong_type(each, std::move(inside), "an object");
      }
    }
  }

  // Trap, kept: checked on the object as it is written, before defaults or the cluster's values are under it.
  void check_pair(const Json& object, const SettingsPair& pair, const std::string& place) {
    const Json* lower = settings_member(object, pair.lower);
    const Json* upper = settings_member(object, pair.upper);
    if (lower == nullptr && upper == nullptr) return;
    if (lower == nullptr || upper == nullptr) {
      const std::string_view there = lower == nullptr ? pair.upper : pair.lower;
      const std::string_view missing = lower == nullptr ? pair.lower : pair.upper;
      report_.error(Reason::kSettingsInvalid, settings_place(place, there), cat("it without ", missing),
                    cat("both in the same object, ", pair.lower, " below ", pair.upper, ", or neither"));
      return;
    }
    if (!lower->is_int() || !upper->is_int() || lower->as_int() < upper->as_int()) return;
    report_.error(Reason::kSettingsInvalid, settings_place(place, pair.lower), settings_shown(*lower),
                  cat("less than ", pair.upper, ", which is ", upper->as_int()));
  }

  SettingsReport& report_;
};

}  // namespace

const Json* settings_member(const Json& object, std::string_view name) {
  const Json* found = nullptr;
  if (!object.is_object()) return nullptr;
  for (const auto& [key, value] : object.as_object()) {
    if (same_key(key, name)) found = &value;
  }
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::string settings_shown(const Json& value) {
  constexpr std::size_t kShownMax = 80;  // bytes
  if (value.is_string()) return base::in_quotes(value.as_string(), kShownMax);
  const std::string text = value.dump();
  return text.size() <= kShownMax ? text : base::in_quotes(text, kShownMax);
}

std::string settings_place(const std::string& place, std::string_view member) {
  return place.empty() ? std::string(member) : cat(place, ".", member);
}

void walk_settings(const Json& object, const SettingsShape& shape, const std::string& place,
                   std::span<const std::string_view> also, SettingsReport& report) {
  Walker(report).object(object, shape, place, also);
}

}  // namespace tidemark::policy::settings
