#include "gateway/multipart.h"

#include <gtest/gtest.h>

namespace tidemark::gateway {
namespace {

constexpr std::string_view kType = "multipart/form-data; boundary=\"b\"";

TEST(Multipart, ReadsFieldsAndFiles) {
  const auto parts = parse_form(kType,
                                "--b\r\nContent-Disposition: form-data; name=\"batchRequest\"\r\nContent-Type: "
                                "application/json\r\n\r\n{}\r\n--b\r\ncontent-disposition: form-data; "
                                "name=resourceFile; filename=\"a;\\\"b.jar\"\r\n\r\n\r\n--c\r\n--b--\r\n");
  ASSERT_TRUE(parts) << parts.error().message;
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ(parts->at(0).name, "batchRequest");
  EXPECT_EQ(parts->at(0).bytes, "{}");
  EXPECT_EQ(parts->at(1).file, "a;\"b.jar");
  EXPECT_EQ(parts->at(1).bytes.substr(0, 5), "\r\n--c") << "bytes of a file may look like a boundary";
}

TEST(Multipart, RefusesWhatIsNotWhole) {
  for (const std::string_view body : {"", "--b", "--b\r\n", "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx",
                                      "--b\r\n\r\nx\r\n--b--", "--bx\r\n\r\n--b--", "--b\r\nx\r\n--b--"}) {
    EXPECT_FALSE(parse_form(kType, body)) << body;
  }
  EXPECT_FALSE(parse_form("multipart/form-data", "--b--"));
  EXPECT_TRUE(parse_form(kType, "--b--")->empty());
}

}  // namespace
}  // namespace tidemark::gateway
