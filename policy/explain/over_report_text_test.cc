#include "policy/explain/over_report_text.h"

#include <gtest/gtest.h>

namespace tidemark::policy::explain {
namespace {

TEST(OverReportText, ShowsALineForEachOverReportedSide) {
  model::LedgerConfig ledger;
  EXPECT_EQ(over_report_text(ledger), "");
  EXPECT_EQ(over_report_json(ledger).dump(), "{}");
  ledger.yarn.over_report.cpu_percent = 110;
  ledger.yarn.entries = {{"spark", model::HourSpan{22, 7}, 130, std::nullopt, 1},
                         {"", std::nullopt, std::nullopt, 90, 2}};
  EXPECT_EQ(over_report_text(ledger),
            "over-report yarn: cpu 110 %, memory 100 %; entry 1: class spark, 22:00 to 7:00, cpu 130 %; entry 2: every "
            "class, memory 90 %\n");
  EXPECT_EQ(over_report_json(ledger).dump(),
            R"({"yarn":{"cpuPercent":110,"memoryPercent":100,"entries":[{"class":"spark","hours":"22-7",)"
            R"("cpuPercent":130},{"memoryPercent":90}]}})");
}

}  // namespace
}  // namespace tidemark::policy::explain
