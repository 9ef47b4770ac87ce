#include "model/time_zone.h"

#include <gtest/gtest.h>

#include <time.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace tidemark::model {
namespace {

const std::string kZones = "/usr/share/zoneinfo/";

std::string bytes_of(const std::string& name) {
  std::stringstream bytes;
  bytes << std::ifstream(kZones + name, std::ios::binary).rdbuf();
  return bytes.str();
}

TimeZone zone(const std::string& name) {
  auto parsed = TimeZone::parse(name, bytes_of(name));
  EXPECT_TRUE(parsed.has_value()) << name << ": " << (parsed ? "" : parsed.error().message);
  return parsed ? *parsed : TimeZone::utc();
}

// The C library reads the same files with its own code: it is the reference for every zone of the machine.
class InZone {
 public:
  explicit InZone(const std::string& name) {
    setenv("TZ", (":" + name).c_str(), 1);
    tzset();
  }
  ~InZone() {
    unsetenv("TZ");
    tzset();
  }
  long offset(std::int64_t utc_s) const {
    const time_t moment = utc_s;
    tm parts{};
    localtime_r(&moment, &parts);
    return parts.tm_gmtoff;
  }
};

TEST(TimeZone, EveryZoneOfTheMachineAgreesWithTheCLibrary) {
  std::size_t zones = 0;
  std::mt19937_64 random(31);
  for (const char* region :
       {"Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Etc", "Europe", "Pacific"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kZones + region)) {
      if (!entry.is_regular_file()) continue;
      const std::string name = std::filesystem::relative(entry.path(), kZones);
      const TimeZone ours = zone(name);
      const InZone theirs(name);
      ++zones;
      for (int i = 0; i < 200; ++i) {
        const auto moment = static_cast<std::int64_t>(random() % 4'000'000'000ULL);  // to 2096
        ASSERT_EQ(ours.offset_at(moment), theirs.offset(moment)) << name << " at " << moment;
      }
    }
  }
  EXPECT_GT(zones, 300U) << "package tzdata is not installed";
}

// A file with one offset and this rule at its end.
std::string file_with(std::string_view rule) {
  std::string out = "TZif2" + std::string(15, '\0');
  const auto counts = [&](char types) { out += std::string(19, '\0') + types + std::string(4, '\0'); };
  counts(1);
  out += std::string(6, '\0') + "TZif2" + std::string(15, '\0');
  counts(1);
  return out + std::string(6, '\0') + "\n" + std::string(rule) + "\n";
}

TEST(TimeZone, ChangesAreInOrderForAnyRule) {
  // Summer time all year, as RFC 8536 has it: it ends at the moment at which it starts again.
  const auto always = TimeZone::parse("x", file_with("EST5EDT,0/0,J365/25"));
  ASSERT_TRUE(always) << always.error().message;
  for (std::int64_t utc_s = 1'700'000'000; utc_s < 1'800'000'000; utc_s += 1'000'000) {
    EXPECT_EQ(always->offset_at(utc_s), -4 * 3600) << utc_s;
  }
  EXPECT_TRUE(TimeZone::from_spans("x", always->spans()));
  // Summer time that starts after the next year's has ended.
  EXPECT_FALSE(TimeZone::parse("x", file_with("AAA0BBB,J365/167,J1/-167")));
  // Summer time that exceeds the largest offset by an hour.
  EXPECT_FALSE(TimeZone::parse("x", file_with("AAA-26BBB,M3.5.0,M10.5.0")));
}

constexpr std::int64_t kHour = 3600;

std::int64_t local(int year, unsigned month, unsigned day, int hour, int minute) {
  using namespace std::chrono;
  return sys_seconds(sys_days(std::chrono::year(year) / month / day) + hours(hour) + minutes(minute))
      .time_since_epoch()
      .count();
}

TEST(TimeZone, SkippedHourIsTheMomentOfTheJump) {
  const auto berlin = zone("Europe/Berlin");
  const auto jump = local(2026, 3, 29, 1, 0);  // UTC
  EXPECT_EQ(berlin.moment(local(2026, 3, 29, 1, 59)), jump - 60);
  EXPECT_EQ(berlin.moment(local(2026, 3, 29, 2, 0)), jump);
  EXPECT_EQ(berlin.moment(local(2026, 3, 29, 2, 30)), jump);
  EXPECT_EQ(berlin.moment(local(2026, 3, 29, 3, 0)), jump);
  EXPECT_EQ(berlin.moment(local(2026, 3, 29, 3, 1)), jump + 60);
}

TEST(TimeZone, RepeatedHourIsTheFirstOne) {
  const auto berlin = zone("Europe/Berlin");
  EXPECT_EQ(berlin.moment(local(2026, 10, 25, 2, 30)), local(2026, 10, 25, 0, 30));
  EXPECT_EQ(berlin.moment(local(2026, 10, 25, 3, 0)), local(2026, 10, 25, 2, 0));
}

TEST(TimeZone, SupportsHalfHoursTheSouthAndTheFarFuture) {
  EXPECT_EQ(zone("Asia/Kolkata").offset_at(1'800'000'000), 5 * kHour + kHour / 2);
  const auto sydney = zone("Australia/Sydney");
  EXPECT_EQ(sydney.offset_at(local(2071, 1, 15, 0, 0)), 11 * kHour);  // by the rule: the file does not list that year
  EXPECT_EQ(sydney.offset_at(local(2071, 7, 15, 0, 0)), 10 * kHour);
}

TEST(TimeZone, MomentAndLocalAreInverseForUniqueTimes) {
  std::mt19937_64 random(32);
  for (const char* name : {"Asia/Shanghai", "America/New_York", "Europe/Dublin", "Pacific/Apia", "Asia/Tehran"}) {
    const auto here = zone(name);
    for (int i = 0; i < 20'000; ++i) {
      const auto utc = static_cast<std::int64_t>(random() % 4'000'000'000ULL);
      const auto back = here.moment(here.local(utc));
      // Equal, or the first of two moments with the same local time.
      EXPECT_LE(back, utc);
      EXPECT_EQ(here.local(back), here.local(utc));
      EXPECT_LE(utc - back, 2 * kHour);
    }
  }
}

TEST(TimeZone, BrokenFilesAreRefused) {
  const std::string good = bytes_of("Europe/Berlin");
  ASSERT_TRUE(TimeZone::parse("x", good).has_value());
  EXPECT_FALSE(TimeZone::parse("x", "").has_value());
  EXPECT_FALSE(TimeZone::parse("x", "TZif").has_value());
  for (std::size_t length = 0; length + 1 < good.size(); length += 7) {
    EXPECT_FALSE(TimeZone::parse("x", good.substr(0, length)).has_value()) << length;
  }
  std::mt19937_64 random(33);
  for (int i = 0; i < 20'000; ++i) {  // whatever it parses to: no crash, and a total answer
    std::string bent = good;
    for (int n = 0; n < 3; ++n) bent[random() % bent.size()] = static_cast<char>(random());
    if (const auto parsed = TimeZone::parse("x", bent)) {
      parsed->moment(static_cast<std::int64_t>(random() % 4'000'000'000ULL));
    }
  }
}

}  // namespace
}  // namespace tidemark::model
