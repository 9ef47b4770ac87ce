#include "yarn_copilot/words.h"

#include <gtest/gtest.h>

#include <string>

namespace tidemark::yarn_copilot {
namespace {

using namespace std::chrono_literals;

constexpr const char* kId = "container_e01_1700000000000_0001_01_000002";

SeenContainer seen() {
  SeenContainer out;
  out.said = {.id = kId, .state = "RUNNING", .user = "ada", .memory_mib = 2048, .vcores = 2};
  out.yarn = copilot::parse_yarn_container(kId);
  out.group = std::string("kubepods/besteffort/hadoop-yarn/") + kId;
  return out;
}

// Copilot contract 10: ContainerInfo of 2 vcores and 2048 MB. Labels and a time are additions to Koordinator's format.
TEST(Words, FormatContainerAsKoordinatorContainerInfo) {
  SeenContainer peer = seen();
  peer.said.user.clear();
  std::string out;
  base::JsonWriter writer(out);
  copilot::write(writer, to_container(peer, {}));
  EXPECT_EQ(
      out,
      R"({"name":"container_e01_1700000000000_0001_01_000002","namespace":"yarn",)"
      R"("uid":"container_e01_1700000000000_0001_01_000002","labels":null,"annotations":null,"priority":1,)"
      R"("createTimestamp":"0001-01-01T00:00:00Z",)"
      R"("cgroupDir":"kubepods/besteffort/hadoop-yarn/container_e01_1700000000000_0001_01_000002","hostNetwork":true,)"
      R"("resources":{"limits":{"cpu":"2","memory":"2147483648"},"requests":{"cpu":"2","memory":"2147483648"}}})");
  peer.said.memory_mib = 1000;
  EXPECT_EQ(to_container(peer, {}).requests.native.memory->value, 1'048'576'000);
}

// A vcore may be half a core or two. Koordinator's fields stay; the batch resources give the real amount.
TEST(Words, GiveRealAmountsBesideKoordinatorAmounts) {
  SeenContainer each = seen();
  each.millicores_per_vcore = 500;
  std::string out;
  base::JsonWriter writer(out);
  copilot::write(writer, to_container(each, {}));
  EXPECT_NE(out.find(R"("requests":{"cpu":"2","memory":"2147483648","kubernetes.io/batch-cpu":"1k",)"
                     R"("kubernetes.io/batch-memory":"2147483648"}})"),
            std::string::npos)
      << out;
  const auto heard = copilot::read_container(out);
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->limits.native.cpu, model::CpuMilli{2000});
  EXPECT_EQ(heard->limits.batch.cpu, model::CpuMilli{1000});
  EXPECT_EQ(heard->requests.batch.memory, model::MemoryBytes{2147483648});
  each.millicores_per_vcore = 2000;
  EXPECT_EQ(to_container(each, {}).requests.batch.cpu, model::CpuMilli{4000});
}

TEST(Words, GiveAllKnownData) {
  SeenContainer each = seen();
  each.began = base::parse_rfc3339("2026-01-02T03:04:05Z");
  each.has_group = true;
  each.use = Use{.processes = 3, .cpu_ns = 7, .memory_bytes = 9, .began = {}};
  std::string out;
  base::JsonWriter writer(out);
  write_seen(writer, each, base::parse_rfc3339("2026-01-02T03:05:00Z"));
  EXPECT_EQ(
      out,
      R"({"id":"container_e01_1700000000000_0001_01_000002","state":"RUNNING",)"
      R"("application":"application_1700000000000_0001","attempt":"appattempt_1700000000000_0001_000001",)"
      R"("master":false,"user":"ada","queue":null,"type":null,"name":null,"tags":null,"priority":null,"vcores":2,"memoryMiB":2048,"began":"2026-01-02T03:04:05Z",)"
      R"("group":"kubepods/besteffort/hadoop-yarn/container_e01_1700000000000_0001_01_000002",)"
      R"("use":{"processes":3,"cpuNanoseconds":7,"memoryBytes":9},"stoppedAt":"2026-01-02T03:05:00Z"})");

  SeenContainer unknown;
  unknown.said.id = "x";
  out.clear();
  base::JsonWriter again(out);
  write_seen(again, unknown, std::nullopt);
  EXPECT_EQ(out, R"({"id":"x","state":"","application":null,"attempt":null,"master":false,"user":null,)"
                 R"("queue":null,"type":null,"name":null,"tags":null,"priority":null,"vcores":0,)"
                 R"("memoryMiB":0,"began":null,"group":null,"use":null,"stoppedAt":null})");
}

TEST(Words, MarkAMasterAsDependency) {
  SeenContainer master = seen();
  EXPECT_EQ(to_container(master, {}).label("tidemark.io/infrastructure"), "");
  master.yarn->number = 1;
  EXPECT_EQ(to_container(master, {}).label("tidemark.io/infrastructure"), "true");
}

TEST(Words, TurnTagsIntoLabels) {
  SeenContainer each = seen();
  each.application = hadoop::ApplicationReport{"ada", "root.etl", "nightly", "SPARK", {"tidemark-business:ads"}, 7};
  const copilot::Container container = to_container(each, {{"etl", "transcode"}});
  EXPECT_EQ(container.label("tidemark.io/class"), "transcode");
  EXPECT_EQ(container.label("tidemark.io/business"), "ads");
  std::string out;
  base::JsonWriter writer(out);
  write_seen(writer, each, std::nullopt);
  EXPECT_TRUE(out.contains(R"("queue":"root.etl","type":"SPARK","name":"nightly","tags":["tidemark-business:ads"],)"
                           R"("priority":7,)"))
      << out;
}

TEST(Words, ClampAnAmountBeyondItsRange) {
  SeenContainer each = seen();
  each.said.vcores = each.said.memory_mib = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(each.holds().memory, model::MemoryBytes::max_value());
  EXPECT_EQ(each.holds().cpu, model::CpuMilli::max_value());
}

template <class T>
std::string error_of(const Result<T>& read) {
  return read ? "none" : read.error().message;
}

TEST(Words, ReadKillRequest) {
  EXPECT_EQ(read_kill(R"({"containerID":"c","more":1})").value(), "c");
  EXPECT_EQ(error_of(read_kill("{}")), "kill request: containerID is missing");
  EXPECT_TRUE(error_of(read_kill("no")).starts_with("kill request: ")) << error_of(read_kill("no"));
  EXPECT_TRUE(error_of(read_kill(R"({"containerID":7})")).starts_with("kill request: "));
}

TEST(Words, ReadFreeRequest) {
  EXPECT_EQ(read_kill_by_resource(R"({"resources":{"cpu":"1500m","memory":"1Gi"}})").value(),
            (model::Resources{{1500}, {1 << 30}}));
  EXPECT_EQ(read_kill_by_resource(R"({"resources":{"cpu":2}})").value(), (model::Resources{{2000}, {0}}));
  EXPECT_EQ(error_of(read_kill_by_resource(R"({"resources":{}})")),
            "free request: resources has neither cpu nor memory");
  EXPECT_EQ(error_of(read_kill_by_resource(R"({"resources":{"gpu":"1"}})")), "free request: unknown member \"gpu\"");
  for (const char* bad : {R"({"resources":{"cpu":"x"}})", R"({"resources":{"cpu":"-1"}})", R"({"resources":{"cpu":0}})",
                          R"({"resources":[]})", ""}) {
    EXPECT_NE(error_of(read_kill_by_resource(bad)), "none") << bad;
  }
}

TEST(Words, ReadStopRequest) {
  EXPECT_EQ(read_stop(R"({"containerID":"c"})").value(), (StopOrder{"c", kGraceDefault, ""}));
  EXPECT_EQ(read_stop(R"({"containerID":"c","graceSeconds":0,"reason":"TM-EVICT-001"})").value(),
            (StopOrder{"c", 0s, "TM-EVICT-001"}));
  EXPECT_EQ(error_of(read_stop(R"({"containerID":"c","grace":3})")), "stop request: unknown member \"grace\"");
  for (const char* bad : {R"({"graceSeconds":3})", R"({"containerID":"c","graceSeconds":-1})",
                          R"({"containerID":"c","graceSeconds":3601})", R"({"containerID":"c","reason":"a\nb"})"}) {
    EXPECT_NE(error_of(read_stop(bad)), "none") << bad;
  }
}

TEST(Words, ReadLimitRequest) {
  EXPECT_EQ(read_limits(R"({"containerID":"c","cpu":"500m"})").value(),
            (LimitOrder{"c", {model::CpuMilli{500}, std::nullopt}}));
  EXPECT_EQ(error_of(read_limits(R"({"containerID":"c"})")), "limit request: neither cpu nor memory is set");
  EXPECT_EQ(error_of(read_limits(R"({"containerID":"c","io":"1"})")), "limit request: unknown member \"io\"");
  EXPECT_NE(error_of(read_limits(R"({"containerID":"c","memory":"0"})")), "none");
  std::string out;
  base::JsonWriter writer(out);
  write_limits(writer, "c", {model::CpuMilli{500}, model::MemoryBytes{1 << 30}});
  EXPECT_EQ(out, R"({"containerID":"c","cpu":"500m","memory":"1Gi"})");
}

TEST(Words, ReadPermit) {
  EXPECT_EQ(read_permit(R"({"permit":"restore"})").value(), copilot::LimitPermit::kRestore);
  EXPECT_EQ(error_of(read_permit(R"({"permit":"of"})")), "permit: wanted keep, enforce, restore or off, found \"of\"");
  EXPECT_EQ(error_of(read_permit(R"({"permit":"off","until":"x"})")), "permit: unknown member \"until\"");
  EXPECT_NE(error_of(read_permit("{}")), "none");
}

}  // namespace
}  // namespace tidemark::yarn_copilot
