#include "base/peer_flags.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace tidemark::base {
namespace {

constexpr PeerFlag kSome[] = {
    {"sells", PeerFlag::Kind::kText, "", "nothing is sold"},
    {"kind", PeerFlag::Kind::kOnly, "round", "always round"},
};

std::vector<std::string> told(const std::vector<std::string>& words) {
  Flags flags("program", "");
  PeerFlags peer(kSome);
  peer.declare(flags);
  const auto parsed = flags.parse(
      words, [](std::string_view) { return std::optional<std::string>(); },
      [](std::string_view) -> Result<std::string> { return std::string(); });
  return parsed ? peer.without_effect(*parsed) : std::vector<std::string>{parsed.error().message};
}

using Words = std::vector<std::string>;

TEST(PeerFlagsTest, AcceptsValuesThatMatchTheBehaviorSilently) {
  EXPECT_EQ(told({"--sells=", "--kind=round", "-v=4", "--logtostderr", "--alsologtostderr=true"}), Words());
}

TEST(PeerFlagsTest, ReportsFlagsWithoutEffectAndRejectsOtherBehavior) {
  EXPECT_EQ(told({"--sells=all", "--logtostderr=false"}),
            (Words{"--sells has no effect: nothing is sold",
                   "--logtostderr has no effect: the log goes to standard error; see --log-level and --log-format"}));
  EXPECT_EQ(told({"--kind=square"}), Words{"--kind: \"square\" is not one of round"});
}

}  // namespace
}  // namespace tidemark::base
