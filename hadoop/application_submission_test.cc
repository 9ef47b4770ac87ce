#include "hadoop/application_submission.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "hadoop/applications.h"

namespace tidemark::hadoop {
namespace {

ApplicationSubmission submission() {
  ApplicationSubmission out;
  out.id = "application_1700000000000_0012";
  out.name = "report";
  out.type = "SPARK";
  out.queue = "night";
  out.priority = 5;
  out.tags = {"tidemark-run:7", "b"};
  out.memory_mib = 1408;
  out.cores = 2;
  out.master.command = "run it";
  out.master.environment = {{"CLASSPATH", "{{PWD}}"}};
  out.master.files = {
      {.link = "a.jar", .url = "hdfs://nn:8020/up/a.jar", .bytes = 7, .modified_ms = 1'700'000'000'000},
      {.link = "z", .url = "hdfs://ns/z.zip#z", .archive = true, .bytes = 8, .modified_ms = 1'700'000'000'001}};
  out.master.tokens = "tokens";
  return out;
}

std::string bytes(std::string_view base64) {
  return *base::base64_decode(base64);
}

// The messages below are those of hadoop-yarn-api 3.4.3's own classes with the same values.
TEST(ApplicationSubmission, IsTheMessageOfHadoopsClient) {
  const auto encoded = encode_submit_application(submission());
  ASSERT_TRUE(encoded) << encoded.error().message;
  EXPECT_EQ(
      base::base64_encode(*encoded),
      "Cs8BCgkIDBCA0JX/vDESBnJlcG9ydBoFbmlnaHQiAggFKosBCjAKBWEuamFyEicKGAoEaGRmcxICbm4Y1D4iCS91cC9hLmphchAHGIDQlf+8"
      "MSACKAIKMQoBehIsCh0KBGhkZnMSAm5zGP///////////wEiBi96LnppcBAIGIHQlf+8MSABKAISBnRva2VucyIUCglDTEFTU1BBVEgSB3t7"
      "UFdEfX0qBnJ1biBpdEABSgUIgAsQAlIFU1BBUktiDnRpZGVtYXJrLXJ1bjo3YgFi");
}

TEST(ApplicationSubmission, WrongPlaceOfAFileIsRefused) {
  for (const char* url : {"/up/a.jar", "hdfs://nn", "hdfs://nn:x/a.jar"}) {
    ApplicationSubmission wrong = submission();
    wrong.master.files[0].url = url;
    EXPECT_FALSE(encode_submit_application(wrong)) << url;
  }
}

TEST(ApplicationCalls, AreTheMessagesOfHadoopsClient) {
  const ApplicationId id{1'700'000'000'000, 12};
  EXPECT_EQ(to_string(id), "application_1700000000000_0012");
  EXPECT_EQ(base::base64_encode(encode_kill_application(id)), "CgkIDBCA0JX/vDE=");
  EXPECT_EQ(base::base64_encode(encode_get_running_applications("tidemark-gateway:s")),
            "EAEQAhADEAQQBVISdGlkZW1hcmstZ2F0ZXdheTpz");
  EXPECT_EQ(*decode_get_new_application(bytes("CgkIDBCA0JX/vDE=")), id);
  EXPECT_FALSE(decode_get_new_application(""));
}

TEST(ApplicationCalls, StateEndAndTagsAreRead) {
  const auto found = decode_get_applications(bytes(
      "CkwKCQgMEIDQlf+8MRIBdRoBcUAHUg5leGl0Q29kZTogLTEwMmgCggENCgkIDBCA0JX/vDEQAY0BAAAAP6IBDnRpZGVtYXJrLXJ1bjo3"));
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().id, "application_1700000000000_0012");
  EXPECT_EQ(found->front().state + " " + found->front().final_status, "FAILED FAILED");
  EXPECT_EQ(found->front().diagnostics, "exitCode: -102");
  EXPECT_EQ(found->front().tags, std::vector<std::string>{"tidemark-run:7"});
  EXPECT_TRUE(decode_get_applications("")->empty());
}

}  // namespace
}  // namespace tidemark::hadoop
