// What the auditor takes from the settings: from the texts themselves, by a way of its own (nothing of policy/ is
// asked).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "cli/yarn/audit_read.h"

namespace tidemark::cli {

// What is held of one class of work; "" is work without one.
using AuditByClass = std::map<std::string, AuditAmounts, std::less<>>;

// The offer to a side in percent of the real amount, by class of work and hour of the day.
struct AuditOverReport {
  struct Entry {
    std::string work_class;                                      // "": every class
    std::optional<std::pair<std::int64_t, std::int64_t>> hours;  // from, to before
    std::optional<std::int64_t> cpu, memory;
    bool operator==(const Entry&) const = default;
  };
  std::int64_t cpu = 100;
  std::int64_t memory = 100;
  std::vector<Entry> entries;  // the first that is for the class and the hour holds
  bool operator==(const AuditOverReport&) const = default;

  // The smallest real amount behind the offer `told`, for any class.
  AuditAmounts real(const AuditAmounts& told, std::optional<std::int64_t> hour) const;
  // The same where it is known which classes hold what of it.
  AuditAmounts real(const AuditAmounts& told, const AuditByClass& held, std::optional<std::int64_t> hour) const;
};

// One of these holds of a side.
class AuditOverReports {
 public:
  void set(const AuditOverReport& one) { may_ = {one}; }
  const AuditOverReport& first() const { return may_.front(); }
  void add(const AuditOverReports& others);
  bool by_hour() const;
  // The least that any of them says.
  AuditAmounts real(const AuditAmounts& told, std::optional<std::int64_t> hour, const AuditByClass& held = {}) const;

 private:
  std::vector<AuditOverReport> may_{AuditOverReport()};
};

// What settings say about one node, as far as the auditor goes by them. Where it cannot tell which of several hold, the
// most generous.
struct AuditRules {
  std::int64_t cpu_threshold_percent = 60;
  std::int64_t memory_threshold_percent = 65;
  bool cpu_by_use = true;
  bool memory_by_use = true;
  double diff_threshold = 0.1;  // what moved by less is not worth a write
  std::int64_t degrade_minutes = 15;
  // profile tidemark: an offer without reports is held and decays, growth is slewed.
  bool decays = false;
  bool slewed = false;
  std::int64_t slew_permille_per_minute = 100;
  std::int64_t dead_band_permille = 10;
  bool strict = false;  // the pool's ledger
  AuditOverReports kubernetes;
  AuditOverReports yarn;
  bool utc = true;  // its hours of the day are those of UTC; else the auditor does not know the zone
};
// Texts of colocation-config and of tidemark-config; nullopt: not there.
struct AuditTexts {
  std::optional<std::string> colocation;
  std::optional<std::string> ours;
};

// What may be in force on a node: what the ConfigMaps say, and every revision that a roll-out under way has in force
// somewhere. Which of them a node runs is not asked.
class AuditSettings {
 public:
  // `stored`: the data of tidemark-config-revisions. An unreadable live text is ignored if a stored one is readable.
  static Result<AuditSettings> read(const AuditTexts& live,
                                    const std::map<std::string, std::string, std::less<>>& stored = {});
  // Text of the overrides of the water line; those in force count on every node. What cannot be read counts as none.
  void take_overrides(std::optional<std::string_view> text, base::WallTime now);
  // Of a node only its labels and the annotation of its strategy are asked for.
  AuditRules of(const Json& node) const;
  // When an override ends, next.
  std::optional<base::WallTime> changes_at() const { return changes_at_; }

 private:
  struct Layer {
    Json colocation;
    Json ours;
  };
  void take_override(const Json& line, base::WallTime now);

  std::vector<Layer> layers_;  // one at least
  // The highest override of the water line of any pool.
  std::int64_t override_cpu_percent_ = 0;
  std::int64_t override_memory_percent_ = 0;
  std::optional<base::WallTime> changes_at_;
};

}  // namespace tidemark::cli
