#include "hadoop/applications.h"

#include <gtest/gtest.h>

#include "hadoop/wire.h"

namespace tidemark::hadoop {
namespace {

TEST(Applications, ParseAndFormatIds) {
  EXPECT_EQ(parse_application_id("application_1700000000000_0001").value(), (ApplicationId{1700000000000, 1}));
  EXPECT_EQ(parse_application_id("application_1_12345").value(), (ApplicationId{1, 12345}));
  for (const char* text : {"", "application", "application_1", "application_1_x", "application_-1_1", "job_1_1",
                           "application_1_99999999999", "application_1_1_1"}) {
    EXPECT_FALSE(parse_application_id(text)) << text;
  }
}

TEST(Applications, ReadReport) {
  std::string response;
  WireWriter(response).message(1, [](WireWriter& report) {
    report.message(1, [](WireWriter& id) { id.number(1, 1).number(2, 1700000000000); });
    report.bytes(2, "ada").bytes(3, "root.etl").bytes(4, "nightly").number(8, 5).bytes(18, "SPARK");
    report.bytes(20, "tidemark-class:spark").bytes(20, "x");
    report.message(23, [](WireWriter& priority) { priority.number(1, 7); });
  });
  const auto report = decode_get_application_report(response);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(*report, (ApplicationReport{"ada", "root.etl", "nightly", "SPARK", {"tidemark-class:spark", "x"}, 7}));
}

TEST(Applications, RejectMissingReport) {
  EXPECT_EQ(decode_get_application_report("").error().kind, ErrorKind::kInvalid);
  EXPECT_FALSE(decode_get_application_report("\x0a\x05\x01"));
}

TEST(Applications, CutLongTexts) {
  std::string response;
  WireWriter(response).message(1, [](WireWriter& report) {
    report.bytes(4, std::string(10'000, 'x'));
    for (int i = 0; i < 1000; ++i) report.bytes(20, "tag");
  });
  const auto report = decode_get_application_report(response);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->name.size(), kApplicationTextBytesMax);
  EXPECT_EQ(report->tags.size(), kApplicationTagsMax);
}

TEST(Applications, EncodeRequest) {
  EXPECT_EQ(encode_get_application_report({3, 2}), std::string("\x0a\x04\x08\x02\x10\x03", 6));
}

}  // namespace
}  // namespace tidemark::hadoop
