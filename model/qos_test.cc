#include "model/qos.h"

#include <gtest/gtest.h>

namespace tidemark::model {
namespace {

TEST(Qos, ParsesTheExactLabelOnly) {
  EXPECT_EQ(parse_qos("LSE"), Qos::kLse);
  EXPECT_EQ(parse_qos("SYSTEM"), Qos::kSystem);
  EXPECT_EQ(parse_qos("lse"), Qos::kNone);
  EXPECT_EQ(parse_qos(""), Qos::kNone);
  for (const auto qos : {Qos::kLse, Qos::kLsr, Qos::kLs, Qos::kBe, Qos::kSystem}) {
    EXPECT_EQ(parse_qos(to_string(qos)), qos);
  }
  EXPECT_EQ(to_string(Qos::kNone), "");
}

TEST(Qos, WithoutALabelKubernetesClassDecides) {
  EXPECT_EQ(qos_with_default(Qos::kNone, KubeQos::kGuaranteed), Qos::kLsr);
  EXPECT_EQ(qos_with_default(Qos::kNone, KubeQos::kBurstable), Qos::kLs);
  EXPECT_EQ(qos_with_default(Qos::kNone, KubeQos::kBestEffort), Qos::kBe);
  EXPECT_EQ(qos_with_default(Qos::kBe, KubeQos::kGuaranteed), Qos::kBe);
}

TEST(Priority, BandsAreInclusiveAndGapsAreNone) {
  EXPECT_EQ(priority_class_of(9000), PriorityClass::kProd);
  EXPECT_EQ(priority_class_of(9999), PriorityClass::kProd);
  EXPECT_EQ(priority_class_of(10000), PriorityClass::kNone);
  EXPECT_EQ(priority_class_of(8000), PriorityClass::kNone);
  EXPECT_EQ(priority_class_of(7999), PriorityClass::kMid);
  EXPECT_EQ(priority_class_of(5000), PriorityClass::kBatch);
  EXPECT_EQ(priority_class_of(3999), PriorityClass::kFree);
  EXPECT_EQ(priority_class_of(2000001000), PriorityClass::kNone);
  EXPECT_EQ(priority_class_of(-1), PriorityClass::kNone);
}

TEST(Priority, AnUnknownLabelDoesNotFallThroughToTheNumber) {
  EXPECT_EQ(priority_class_raw("koord-batch", 9500), PriorityClass::kBatch);
  EXPECT_EQ(priority_class_raw("batch", 9500), PriorityClass::kNone);
  EXPECT_EQ(priority_class_raw(std::nullopt, 9500), PriorityClass::kProd);
  EXPECT_EQ(priority_class_raw(std::nullopt, std::nullopt), PriorityClass::kNone);
}

TEST(Priority, WithDefaultFollowsTheQosClass) {
  for (const auto qos : {Qos::kSystem, Qos::kLse, Qos::kLsr, Qos::kLs}) {
    EXPECT_EQ(priority_class_with_default(PriorityClass::kNone, qos), PriorityClass::kProd);
  }
  EXPECT_EQ(priority_class_with_default(PriorityClass::kNone, Qos::kBe), PriorityClass::kBatch);
  EXPECT_EQ(priority_class_with_default(PriorityClass::kFree, Qos::kLse), PriorityClass::kFree);
  EXPECT_EQ(priority_class_with_default(PriorityClass::kNone, Qos::kNone), PriorityClass::kNone);
}

TEST(Priority, TheNumberFallsBackToTheClass) {
  EXPECT_EQ(priority_with_default(9100, PriorityClass::kProd), 9100);
  EXPECT_EQ(priority_with_default(0, PriorityClass::kProd), 9500);
  EXPECT_EQ(priority_with_default(std::nullopt, PriorityClass::kBatch), 5500);
  EXPECT_EQ(priority_with_default(std::nullopt, PriorityClass::kNone), 0);
}

}  // namespace
}  // namespace tidemark::model
