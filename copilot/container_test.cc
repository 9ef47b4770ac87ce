#include "copilot/container.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace tidemark::copilot {
namespace {

using model::CpuMilli;
using model::MemoryBytes;

// The example of copilot contract 10.
constexpr std::string_view kPeers =
    R"({"name":"container_e01_1700000000000_0001_01_000002","namespace":"yarn","uid":"container_e01_1700000000000_0001_01_000002",
 "labels":null,"annotations":null,"priority":1,"createTimestamp":"0001-01-01T00:00:00Z",
 "cgroupDir":"kubepods/besteffort/hadoop-yarn/container_e01_1700000000000_0001_01_000002","hostNetwork":true,
 "resources":{"limits":{"cpu":"2","memory":"2147483648"},"requests":{"cpu":"2","memory":"2147483648"}}})";

std::string written(const Container& container) {
  std::string text;
  base::JsonWriter writer(text);
  write(writer, container);
  return text;
}

TEST(CopilotContainer, ReadsKoordinatorsFormat) {
  const auto container = read_container(kPeers);
  ASSERT_TRUE(container) << container.error().message;
  EXPECT_EQ(container->name, "container_e01_1700000000000_0001_01_000002");
  EXPECT_EQ(container->uid, container->name);
  EXPECT_EQ(container->ns, "yarn");
  EXPECT_TRUE(container->labels.empty());
  EXPECT_EQ(container->priority, 1);
  EXPECT_EQ(container->created, std::nullopt);
  EXPECT_EQ(container->group, "kubepods/besteffort/hadoop-yarn/container_e01_1700000000000_0001_01_000002");
  EXPECT_TRUE(container->host_network);
  EXPECT_EQ(container->requests.native.cpu, CpuMilli{2000});
  EXPECT_EQ(container->limits.native.memory, MemoryBytes{2147483648});
  EXPECT_TRUE(container->requests.batch.none());
}

TEST(CopilotContainer, WritesKoordinatorsFormat) {
  std::string wanted(kPeers);
  std::erase(wanted, '\n');
  std::string without_blanks;
  for (const char c : wanted) {
    if (c != ' ') without_blanks += c;
  }
  EXPECT_EQ(written(*read_container(kPeers)), without_blanks);
}

// Copilot contract 10: memory is decimal-SI, 1000 MB are "1048576k".
TEST(CopilotContainer, AmountsAreQuantities) {
  const auto read = read_container(
      R"({"name":"c","resources":{"requests":{"cpu":"1500m","memory":"1048576k","disk":"7"},"limits":{"kubernetes.io/batch-cpu":"2k","kubernetes.io/batch-memory":1024}}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->requests.native.cpu, CpuMilli{1500});
  EXPECT_EQ(read->requests.native.memory, MemoryBytes{1048576000});
  EXPECT_EQ(read->limits.batch.cpu, CpuMilli{2000});
  EXPECT_EQ(read->limits.batch.memory, MemoryBytes{1024});
  EXPECT_NE(written(*read).find(R"("requests":{"cpu":"1500m","memory":"1048576k"})"), std::string::npos);
}

TEST(CopilotContainer, LabelsAndATimeOfALaterCopilot) {
  const auto read = read_container(
      R"({"name":"c","labels":{"tidemark.io/class":"spark","tidemark.io/user":"ada"},"createTimestamp":"2026-01-02T03:04:05Z"})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->label("tidemark.io/class"), "spark");
  EXPECT_EQ(read->label("tidemark.io/user"), "ada");
  EXPECT_EQ(read->label("tidemark.io/job"), "");
  EXPECT_EQ(read->priority, std::nullopt);  // as the peer's own client library knows it
  EXPECT_EQ(read->created, base::parse_rfc3339("2026-01-02T03:04:05Z"));
  EXPECT_EQ(read_container(written(*read)), *read);
}

TEST(CopilotContainer, DiskUseIsAFieldOfOurs) {
  Container one;
  one.name = one.uid = "c";
  const auto text = [](const Container& container) {
    std::string out;
    base::JsonWriter writer(out);
    write(writer, container);
    return out;
  };
  EXPECT_FALSE(text(one).contains("heldOnDisks")) << "where there is nothing it is as the peer writes it";
  one.held = {{2049, 4096, 1}, {66304, 0, 7}};
  EXPECT_TRUE(text(one).contains(R"("heldOnDisks":[{"device":2049,"bytes":4096,"inodes":1},{"device":66304)"));
  EXPECT_EQ(read_container(text(one)).value().held, one.held);
  for (const char* bad : {R"({"name":"c","heldOnDisks":[{"bytes":-1}]})",
                          R"({"name":"c","heldOnDisks":[{"device":-1}]})", R"({"name":"c","heldOnDisks":{}})"}) {
    EXPECT_FALSE(read_container(bad)) << bad;
  }
}

TEST(CopilotContainer, ListsOfThem) {
  EXPECT_EQ(read_containers("[]")->containers.size(), 0u);
  EXPECT_EQ(read_containers("null")->containers.size(), 0u);
  const auto two = read_containers(base::cat("[", kPeers, ",", kPeers, "]"));
  ASSERT_TRUE(two);
  EXPECT_EQ(two->containers.size(), 2u);
  const auto killed = read_items(base::cat(R"({"items":[)", kPeers, "]}"));
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->size(), 1u);
  EXPECT_EQ(read_items("{}")->size(), 0u);
}

TEST(CopilotContainer, RefusesOnlyUnreadableContainer) {
  const auto read = read_containers(
      R"([{"name":"a"},{"name":"b","resources":{"requests":{"cpu":"much"}}},7,{"name":"c"},{"name":"d","createTimestamp":"soon"}])");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->containers.size(), 2u);
  EXPECT_EQ(read->containers[0].name, "a");
  EXPECT_EQ(read->containers[1].name, "c");
  ASSERT_EQ(read->refused.size(), 3u);
  EXPECT_TRUE(read->refused[0].message.starts_with("a copilot's container \"b\": ")) << read->refused[0].message;
  EXPECT_TRUE(read->refused[1].message.starts_with("a copilot's container at 2: ")) << read->refused[1].message;
  EXPECT_TRUE(read->refused[2].message.starts_with("a copilot's container \"d\": ")) << read->refused[2].message;
  for (const char* broken : {R"([{"name":"a"},{"name":])", R"([{"name":"a"})", R"([{"name":"a"}]x)"}) {
    EXPECT_FALSE(read_containers(broken)) << broken;
  }
}

TEST(CopilotContainer, Information) {
  EXPECT_EQ(read_information(R"({"name":"yarn","version":"v1"})"), (Information{"yarn", "v1"}));
  EXPECT_FALSE(read_information("{}"));
  EXPECT_FALSE(read_information(R"("ok")"));
}

TEST(CopilotContainer, RefusesOtherData) {
  for (const char* bad :
       {"", "{", "{}", "[]", R"({"name":7})", R"({"name":"c","priority":"high"})",
        R"({"name":"c","createTimestamp":"soon"})", R"({"name":"c","resources":{"requests":{"cpu":"much"}}})",
        R"({"name":"c","resources":{"limits":{"memory":"-1"}}})"}) {
    const auto read = read_container(bad);
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().kind, ErrorKind::kInvalid);
    EXPECT_TRUE(read.error().message.starts_with("a copilot's container: ")) << read.error().message;
  }
  EXPECT_FALSE(read_containers(R"({"items":[]})"));
}

TEST(CopilotContainer, IsBounded) {
  EXPECT_FALSE(read_container(base::cat(R"({"name":")", std::string(kTextBytesMax + 1, 'x'), R"("})")));
  std::string labels, many = "[{}";
  for (std::size_t i = 0; i <= kLabelsMax; ++i) labels += base::cat(i == 0 ? "" : ",", R"("l)", i, R"(":"")");
  EXPECT_EQ(read_container(base::cat(R"({"name":"c","labels":{)", labels, "}}"))->labels.size(), kLabelsMax);
  for (std::size_t i = 1; i < kContainersMax; ++i) many += ",{}";
  EXPECT_TRUE(read_containers(many + "]"));
  EXPECT_FALSE(read_containers(many + ",{}]"));
  EXPECT_FALSE(read_containers(many + ",7]"));
}

}  // namespace
}  // namespace tidemark::copilot
