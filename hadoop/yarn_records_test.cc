#include "hadoop/yarn_records.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include <set>
#include <string>
#include <tuple>

#include "hadoop/wire.h"

namespace tidemark::hadoop {
namespace {

using namespace std::string_view_literals;

std::string report(const NodeId& id, std::int64_t state, bool used = true, bool capability = true) {
  std::string out;
  WireWriter writer(out);
  writer.message(1, [&](WireWriter& w) { w.bytes(1, id.host).number(2, id.port); })
      .bytes(2, "h:8042")
      .bytes(3, "/rack");
  if (used) writer.message(4, [](WireWriter& w) { w.number(1, 512).number(2, 1); });
  if (capability) {
    writer.message(5, [](WireWriter& w) {
      w.number(1, 2048).number(2, 4);
      for (const auto& [name, value, units] :
           {std::tuple("memory-mb", 2048, "Mi"), std::tuple("vcores", 4, ""), std::tuple("yarn.io/gpu", 2, "")}) {
        w.message(3, [&](WireWriter& v) { v.bytes(1, name).number(2, value).bytes(3, units).number(4, 0); });
      }
    });
  }
  writer.number(6, 3).number(7, state).bytes(8, "fine").number(9, 1700000000000).bytes(10, "volatile");
  writer.number(13, 5);
  return out;
}

std::string response(std::initializer_list<std::string> reports) {
  std::string out;
  for (const std::string& each : reports) WireWriter(out).bytes(1, each);
  return out;
}

// Copilot contract 7: NodeResourceMapProto, ResourceOptionProto, ResourceProto.
TEST(YarnRecordsTest, EncodesUpdateByFieldNumbers) {
  EXPECT_EQ(encode_update_node_resource({{.id = {"h", 80}, .total = {2048, 2, {}}, .overcommit = std::nullopt}}),
            "\x0a\x10"
            "\x0a\x05\x0a\x01h\x10\x50"
            "\x12\x07\x0a\x05\x08\x80\x10\x10\x02"sv);
  EXPECT_EQ(encode_update_node_resource({{.id = {"h", 80}, .total = {0, 0, {}}, .overcommit = Overcommit::keep()}}),
            "\x0a\x1a"
            "\x0a\x05\x0a\x01h\x10\x50"
            "\x12\x11\x0a\x04\x08\x00\x10\x00\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv);
}

TEST(YarnRecordsTest, SendsOtherResourcesOfTheNodeBack) {
  const auto read = decode_get_cluster_nodes(response({report({"h", 80}, 2)}));
  ASSERT_TRUE(read && read->nodes.size() == 1);
  Resource total = read->nodes[0].capability;
  EXPECT_EQ(total.memory_mib, 2048);
  EXPECT_EQ(total.vcores, 4);
  ASSERT_EQ(total.others.size(), 1U);
  EXPECT_EQ(total.others[0].name, "yarn.io/gpu");
  total.memory_mib = 0;
  EXPECT_NE(encode_update_node_resource({{.id = {"h", 80}, .total = total, .overcommit = {}}}).find("yarn.io/gpu"),
            std::string::npos);
}

TEST(YarnRecordsTest, ReadsReport) {
  const auto read = decode_get_cluster_nodes(response({report({"h", 80}, 2), report({"i", 81}, 7)}));
  ASSERT_TRUE(read && read->refused.empty());
  ASSERT_EQ(read->nodes.size(), 2U);
  const NodeReport& node = read->nodes[0];
  EXPECT_EQ(node.id.text(), "h:80");
  EXPECT_EQ(node.http_address, "h:8042");
  EXPECT_EQ(node.used, (Resource{512, 1, {}}));
  EXPECT_EQ(node.containers, 3);
  EXPECT_EQ(node.state, NodeState::kRunning);
  EXPECT_EQ(node.health_report, "fine");
  EXPECT_EQ(node.labels, std::vector<std::string>{"volatile"});
  EXPECT_EQ(to_string(read->nodes[1].state), "DECOMMISSIONING");
}

TEST(YarnRecordsTest, SkipsABadReport) {
  const auto read = decode_get_cluster_nodes(response({
      report({"no-used", 80}, 2, false),
      report({"no-capability", 80}, 2, true, false),
      report({"", 80}, 2),
      report({"odd", 80}, 12),
      "\x0a\x05",
      report({"lost", 80}, 5, false),
      report({"well", 80}, 2),
  }));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->nodes.size(), 2U);
  EXPECT_EQ(read->nodes[0].id.host, "lost");
  EXPECT_EQ(read->nodes[1].id.host, "well");
  ASSERT_EQ(read->refused.size(), 5U);
  EXPECT_EQ(read->refused[0].message, "NodeReportProto of no-used:80: no used");
  EXPECT_EQ(read->refused[1].message, "NodeReportProto of no-capability:80: no capability");
  EXPECT_EQ(read->refused[2].message, "NodeIdProto: no host");
  EXPECT_EQ(read->refused[3].message, "NodeReportProto of odd:80: a state that is not known: 12");
}

TEST(YarnRecordsTest, ReadsNoBytesAsEmptyCluster) {
  const auto read = decode_get_cluster_nodes("");
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->nodes.empty());
  EXPECT_FALSE(decode_get_cluster_nodes("\x0a"));
}

TEST(YarnRecordsTest, EncodesStatesByNumber) {
  EXPECT_EQ(encode_get_cluster_nodes({NodeState::kRunning, NodeState::kLost}), "\x08\x02\x08\x05"sv);
  EXPECT_EQ(encode_get_cluster_nodes({}), "");
}

TEST(YarnRecordsTest, ReadsTheActiveState) {
  EXPECT_EQ(*decode_get_service_status("\x08\x01\x10\x01"sv), HaState::kActive);
  EXPECT_EQ(*decode_get_service_status("\x08\x02\x10\x01"sv), HaState::kStandby);
  EXPECT_FALSE(decode_get_service_status(""));
  EXPECT_FALSE(decode_get_service_status("\x08\x04"sv));
}

TEST(YarnRecordsTest, ReadsWaitingAmountOfAQueue) {
  EXPECT_EQ(encode_get_queue_info(kRootQueue), "\x0a\x04root"sv);
  // Of a queue (1) its name, something else, and its statistics (10): pending memory (10), vcores (14), containers
  // (17).
  const auto waiting = decode_get_queue_info("\x0a\x10\x0a\x04root\x28\x01\x52\x06\x50\x80\x10\x18\x07\x70\x03"sv);
  ASSERT_FALSE(waiting) << "its statistics end in mid-field";
  const auto whole =
      decode_get_queue_info("\x0a\x14\x0a\x04root\x28\x01\x52\x0a\x50\x80\x10\x18\x07\x70\x03\x88\x01\x02"sv);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->waiting, (QueueWaiting{2048, 3, 2}));
  EXPECT_EQ(whole->used_share_permille, std::nullopt);
  EXPECT_FALSE(decode_get_queue_info(""));
  EXPECT_FALSE(decode_get_queue_info("\x0a\x06\x0a\x04root"sv)) << "a queue without statistics";
}

// Its calculator shows in it (policy/sell/yarn_calculator.h). 3 is the maximum, 4 the used share, 17 the scheduler.
TEST(YarnRecordsTest, ReadsUsedShareOfACapacitySchedulersQueue) {
  const auto share = [](std::string_view scheduler, std::optional<float> used, bool maximum) {
    const auto fixed = [](std::string& out, char key, float value) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      out += key;
      for (int i = 0; i < 4; ++i) out += static_cast<char>(bits >> (8 * i) & 0xff);
    };
    std::string queue;
    if (maximum) fixed(queue, '\x1d', 1.0F);
    if (used) fixed(queue, '\x25', *used);
    WireWriter(queue).message(10, [](WireWriter& statistics) { statistics.number(10, 0); });
    if (!scheduler.empty()) WireWriter(queue).bytes(17, scheduler);
    std::string all;
    WireWriter(all).bytes(1, queue);
    const auto read = decode_get_queue_info(all);
    EXPECT_TRUE(read);
    return read ? read->used_share_permille : std::nullopt;
  };
  EXPECT_EQ(share("CapacityScheduler", 0.375F, true), 375);
  EXPECT_EQ(share("", 1.5F, true), 1500) << "before 3.4";
  EXPECT_EQ(share("", 0.375F, false), std::nullopt) << "a FairScheduler before 3.4";
  EXPECT_EQ(share("FairScheduler", 0.375F, true), std::nullopt) << "it checks vcores in any case";
  EXPECT_EQ(share("CapacityScheduler", std::nullopt, true), std::nullopt);
  EXPECT_EQ(share("CapacityScheduler", std::nanf(""), true), std::nullopt);
  EXPECT_EQ(share("CapacityScheduler", -1.0F, true), std::nullopt);
}

TEST(NodeIdTest, HostAndPort) {
  EXPECT_EQ(parse_node_id("host-1:45454")->text(), "host-1:45454");
  EXPECT_EQ(parse_node_id("::1:45454")->host, "::1");
  for (const std::string_view bad : {"", "host", "host:", ":1", "host:x", "host:0", "host:70000"}) {
    const auto read = parse_node_id(bad);
    ASSERT_FALSE(read) << bad;
    EXPECT_NE(read.error().message.find("HOST:PORT"), std::string::npos);
  }
}

}  // namespace
}  // namespace tidemark::hadoop
