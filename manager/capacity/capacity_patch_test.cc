#include "manager/capacity/capacity_patch.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "kube/decode.h"
#include "manager/capacity/decide.h"
#include "model/annotations.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

TEST(CapacityPatch, HasAmountsOriginEpochAndResourceVersion) {
  CapacityWrite write;
  write.resource_version = "4711";
  write.publish = {model::CpuMilli{5000}, model::MemoryBytes{60344290509}, model::CpuMilli{0}, model::MemoryBytes{1}};
  write.origin = {model::CpuMilli{12000}, model::MemoryBytes{10737418240}};
  write.epoch = 3;
  write.config_hash = "0123456789abcdef";
  EXPECT_EQ(*Json::parse(capacity_patch(write)), *Json::parse(R"({
    "metadata": {
      "resourceVersion": "4711",
      "annotations": {
        "node.koordinator.sh/originExtendedAllocatable":
            "{\"resources\":{\"kubernetes.io/batch-cpu\":\"12k\",\"kubernetes.io/batch-memory\":\"10Gi\"}}",
        "tidemark.io/capacity-epoch": "3",
        "tidemark.io/config-hash": "0123456789abcdef"
      }
    },
    "status": {
      "capacity": {"kubernetes.io/batch-cpu": "5000", "kubernetes.io/batch-memory": "60344290509",
                   "kubernetes.io/mid-cpu": "0", "kubernetes.io/mid-memory": "1"},
      "allocatable": {"kubernetes.io/batch-cpu": "5000", "kubernetes.io/batch-memory": "60344290509",
                      "kubernetes.io/mid-cpu": "0", "kubernetes.io/mid-memory": "1"}
    }})"));
}

TEST(CapacityPatch, WritesYarnOffer) {
  CapacityWrite write;
  write.yarn_action = policy::sell::AnnotationAction::kSet;
  write.yarn_offer = {7, {model::CpuMilli{1}, model::MemoryBytes{2}}, {}, {{"transcode", {}, {}, "TM-LEDGER-009"}}};
  const Json patch = *Json::parse(capacity_patch(write));
  EXPECT_EQ(model::parse_yarn_offer(patch.text_at("metadata", "annotations", model::kYarnOfferAnnotation)),
            write.yarn_offer);
}

// Contract 5.5: reset deletes the keys from capacity and allocatable and writes "0" as origin.
TEST(CapacityPatch, ResetRemovesKeysAndSetsOriginToZero) {
  CapacityWrite write;
  write.resource_version = "1";
  const Json patch = *Json::parse(capacity_patch(write));
  for (const char* list : {"capacity", "allocatable"}) {
    for (const char* name : {"kubernetes.io/batch-cpu", "kubernetes.io/batch-memory", "kubernetes.io/mid-cpu",
                             "kubernetes.io/mid-memory"}) {
      ASSERT_NE(patch.at("status", list, name), nullptr) << name;
      EXPECT_TRUE(patch.at("status", list, name)->is_null()) << name;
    }
  }
  EXPECT_EQ(patch.text_at("metadata", "annotations", "node.koordinator.sh/originExtendedAllocatable"),
            R"({"resources":{"kubernetes.io/batch-cpu":"0","kubernetes.io/batch-memory":"0"}})");
}

TEST(CapacityPatch, OmitsDisabledPlugins) {
  CapacityWrite write;
  write.resource_version = "1";
  write.batch = false;
  write.config_hash = "0123456789abcdef";
  const Json mid_only = *Json::parse(capacity_patch(write));
  EXPECT_EQ(mid_only.at("metadata", "annotations")->as_object().size(), 2u) << "epoch and settings alone";
  EXPECT_EQ(*mid_only.at("status"), *Json::parse(R"({
      "capacity": {"kubernetes.io/mid-cpu": null, "kubernetes.io/mid-memory": null},
      "allocatable": {"kubernetes.io/mid-cpu": null, "kubernetes.io/mid-memory": null}})"));
  write.config_hash.clear();
  EXPECT_EQ(Json::parse(capacity_patch(write))->at("metadata", "annotations")->as_object().size(), 1u)
      << "what the node carries stays";
  write.config_hash = "0123456789abcdef";
  write.batch = true;
  write.mid = false;
  const Json batch_only = *Json::parse(capacity_patch(write));
  EXPECT_EQ(batch_only.at("metadata", "annotations")->as_object().size(), 3u);
  EXPECT_EQ(batch_only.at("status", "capacity", "kubernetes.io/mid-cpu"), nullptr);
  EXPECT_NE(batch_only.at("status", "capacity", "kubernetes.io/batch-cpu"), nullptr);
}

// A node that took the patch has nothing new to hear from it, and something from every other.
TEST(CapacityPatch, DetectsWhetherTheNodeIsUpToDate) {
  using policy::sell::AnnotationAction;
  CapacityWrite write;
  write.publish = {model::CpuMilli{5000}, model::MemoryBytes{7}, model::CpuMilli{3}, model::MemoryBytes{1}};
  write.origin = {model::CpuMilli{12000}, model::MemoryBytes{9}};
  write.epoch = 3;
  write.config_hash = "0123456789abcdef";
  write.normalization = "1.25";
  write.amplification_action = write.yarn_action = AnnotationAction::kSet;
  write.amplification = R"({"cpu":1.25})";
  write.yarn_offer = {7, {model::CpuMilli{1}, model::MemoryBytes{2}}, {}};
  Json object = *Json::parse(capacity_patch(write));
  object["metadata"]["name"] = Json("n1");
  kube::Interner interner;
  const auto node = kube::decode_node(object.dump(), node_fields(), interner);
  ASSERT_TRUE(node);
  EXPECT_TRUE(changes_nothing(write, *node));
  const auto says_something = [&](auto change) {
    CapacityWrite other = write;
    change(other);
    return !changes_nothing(other, *node);
  };
  EXPECT_TRUE(says_something([](CapacityWrite& of) { of.publish.batch_cpu = model::CpuMilli{5001}; }));
  EXPECT_TRUE(says_something([](CapacityWrite& of) { of.publish.mid_memory.reset(); }));
  EXPECT_TRUE(says_something([](CapacityWrite& of) { of.origin.cpu.value += 1; }));
  EXPECT_TRUE(says_something([](CapacityWrite& of) { of.epoch = 4; }));
  EXPECT_TRUE(says_something([](CapacityWrite& of) { of.config_hash = "another"; }));
  EXPECT_TRUE(says_something([](CapacityWrite& of) { of.normalization = "1.26"; }));
  EXPECT_TRUE(says_something([](CapacityWrite& of) { of.amplification_action = AnnotationAction::kRemove; }));
  EXPECT_TRUE(says_something([](CapacityWrite& of) { of.yarn_offer.generation = 8; }));
  EXPECT_TRUE(says_something([](CapacityWrite& of) { of.oversold_action = AnnotationAction::kSet; }));
  EXPECT_FALSE(says_something([](CapacityWrite& of) {
    of.mid = false;
    of.publish.mid_cpu.reset();
  })) << "what is not in the patch is not asked";
}

TEST(CapacityPatch, InvalidEpochCountsAsUnset) {
  EXPECT_EQ(read_epoch("17"), 17);
  for (const char* text : {"", "x", "-3", "1.5", " 4", "1000000001", "99999999999999999999"})
    EXPECT_EQ(read_epoch(text), 0) << text;
}

}  // namespace
}  // namespace tidemark::manager
