// Any text is a valid rule or is refused; its moments are in order, and next() returns the first of them.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "policy/waterline/calendar/cron.h"

namespace {

namespace policy = tidemark::policy;

// Two hours east in summer, one in winter, for two years.
const tidemark::model::TimeZone& zone() {
  static const tidemark::model::TimeZone made = [] {
    std::vector<tidemark::model::TimeZone::Span> spans(1);
    spans[0] = {tidemark::model::TimeZone::utc().spans()[0].from_s, 3600};
    for (const std::int64_t change : {1'774'746'000, 1'792'890'000, 1'806'195'600, 1'824'944'400}) {
      spans.push_back({change, spans.size() % 2 == 1 ? 7200 : 3600});
    }
    return *tidemark::model::TimeZone::from_spans("Test/Zone", spans);
  }();
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto rule = policy::waterline::Cron::parse({reinterpret_cast<const char*>(data) + 1, size - 1});
  if (!rule) {
    TM_CHECK(!rule.error().message.empty(), "a refusal says what is wrong");
    return 0;
  }
  const std::int64_t from = 1'774'656'000 + data[0] * std::int64_t{86'400};
  const std::int64_t to = from + std::int64_t{3} * 86'400;
  const auto moments = rule->between(zone(), from, to);
  TM_CHECK(moments.size() <= 4 * rule->times_a_day(), "at most times_a_day() a day");
  for (std::size_t i = 0; i < moments.size(); ++i) {
    TM_CHECK(moments[i] >= from && moments[i] < to && (i == 0 || moments[i] > moments[i - 1]), "in order");
  }
  const auto next = rule->next(zone(), from - 1);
  const auto latest = rule->latest(zone(), to - 1);
  TM_CHECK(moments.empty() ? !latest || *latest < from : latest == moments.back(), "the latest one is the last");
  TM_CHECK(moments.empty() ? !next || *next >= to : next == moments.front(), "the next one is the first");
  return 0;
}
