#include "cli/spark/comparison.h"

#include <gtest/gtest.h>

namespace tidemark::cli {
namespace {

Json job() {
  return *Json::parse(
      R"({"file":"hdfs:///jobs/report.jar","className":"Report","name":"report","args":["--out","hdfs:///out/report",)"
      R"("hdfs:///out/report2","hdfs:///out/report/day=1"],"conf":{"spark.tidemark.outputs":"hdfs:///out/report/",)"
      R"("spark.tidemark.rerunSafe":"true","spark.tidemark.floatTolerance":"1e-9","spark.yarn.queue":"night"}})");
}

TEST(Comparison, EachCopyWritesToAPlaceOfItsOwn) {
  const auto plan = plan_comparison(job(), "7");
  ASSERT_TRUE(plan) << plan.error().message;
  const auto args = plan->kubernetes.at("args")->dump();
  EXPECT_EQ(args, R"(["--out","hdfs:///out/report-compare-7-kubernetes","hdfs:///out/report2",)"
                  R"("hdfs:///out/report-compare-7-kubernetes/day=1"])");
  EXPECT_EQ(plan->kubernetes.text_at("conf", "spark.tidemark.side"), "kubernetes");
  EXPECT_EQ(plan->yarn.text_at("conf", "spark.tidemark.side"), "yarn");
  EXPECT_EQ(plan->yarn.text_at("conf", "spark.yarn.queue"), "night");
  EXPECT_EQ(plan->yarn.at("conf", "spark.tidemark.rerunSafe"), nullptr) << "a copy does not move";
}

TEST(Comparison, TheJobThatComparesGetsBothPlaces) {
  const auto plan = plan_comparison(job(), "7");
  const Json spec = *Json::parse(plan->compare.at("args")->as_array()[0].as_string());
  EXPECT_EQ(spec.at("outputs")->as_array()[0].text_at("yarn"), "hdfs:///out/report-compare-7-yarn");
  EXPECT_EQ(spec.at("outputs")->as_array()[0].text_at("format"), "parquet");
  EXPECT_EQ(spec.at("tolerance")->as_double(), 1e-9);
  EXPECT_EQ(plan->compare.text_at("conf", "spark.tidemark.compares"), "report");
  EXPECT_EQ(plan->compare.at("className"), nullptr);
  EXPECT_TRUE(compare_rows_text().contains("def main()"));
}

TEST(Comparison, JobThatWouldWriteToItsRealOutputIsRefused) {
  Json wrong = job();
  wrong["conf"]["spark.tidemark.outputs"] = Json("hdfs:///out/rep");
  const auto plan = plan_comparison(wrong, "7");
  ASSERT_FALSE(plan);
  EXPECT_TRUE(plan.error().message.contains("real output")) << plan.error().message;
  wrong["conf"]["spark.tidemark.outputs"] = Json("");
  EXPECT_FALSE(plan_comparison(wrong, "7"));
}

TEST(Comparison, ReportBecomesLines) {
  const auto lines =
      comparison_lines(R"({"yarn":"/o","rows":[3,3],"causes":{"negative-zero":1},"unexplained":1,)"
                       R"("differences":[{"cause":"negative-zero","count":1,"values":{"a":["F(3) #1","F(4) #2"]}}]})");
  ASSERT_TRUE(lines);
  EXPECT_EQ(*lines,
            "/o: 3 rows from Kubernetes, 3 from YARN, different\n  negative-zero: 1\n"
            "    negative-zero {\"a\":[\"F(3) #1\",\"F(4) #2\"]}\n");
  EXPECT_FALSE(comparison_lines("{}"));
}

}  // namespace
}  // namespace tidemark::cli
