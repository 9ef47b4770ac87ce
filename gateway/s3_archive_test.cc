#include "gateway/s3_archive.h"

#include <gtest/gtest.h>

#include <map>

#include "base/clock.h"

namespace tidemark::gateway {
namespace {

using Variables = std::map<std::string, std::string>;

S3Access access_with(const Variables& variables, const Variables& files = {}) {
  return s3_access(
      [variables](const std::string& name) {
        const auto at = variables.find(name);
        return at == variables.end() ? std::string() : at->second;
      },
      [files](const std::string& path) -> Result<std::string> {
        const auto at = files.find(path);
        if (at == files.end()) return fail(ErrorKind::kNotFound, path, ": no such file");
        return at->second;
      });
}

// The values are those that botocore 1.43 signs with the same keys, at the same time.
TEST(S3Archive, SignatureIsThatOfAwsOwnClient) {
  const base::WallTime may_2013{std::chrono::seconds(1'369'353'600)};
  S3Keys keys{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
  net::HttpRequest get;
  get.target = "/7/driver.log";
  sign_s3(get, "examplebucket.s3.us-east-1.amazonaws.com", "us-east-1", keys, may_2013);
  EXPECT_EQ(get.headers.get("x-amz-date"), "20130524T000000Z");
  EXPECT_EQ(get.headers.get("authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
            "Signature=80d30e2331dbead9b1aedbc05d958a695c32d733ad149ec509b4a550c1f4c7ca");
  keys.session = "session";
  net::HttpRequest put;
  put.method = "PUT";
  put.target = "/logs/of%20runs/7/executor-1%2B.log";
  put.body = "a line\n";
  sign_s3(put, "127.0.0.1:7070", "us-east-1", keys, may_2013);
  EXPECT_EQ(put.headers.get("x-amz-security-token"), "session");
  EXPECT_EQ(put.headers.get("authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
            "Signature=e6ea43bc1d610ba284e3aa11074957827199de7ff51993ec18d735af2d0b43f8");
}

TEST(S3Archive, KeysComeFromTheEnvironmentElseFromTheProfile) {
  const std::string file =
      "# keys\n[default]\naws_access_key_id = D\naws_secret_access_key=d=1\n[profile-b]\n"
      "aws_access_key_id=B\naws_secret_access_key=b\naws_session_token = t\n";
  const Variables files = {{"/home/u/.aws/credentials", file}, {"/keys", file}};
  const auto own =
      access_with({{"AWS_ACCESS_KEY_ID", "A"}, {"AWS_SECRET_ACCESS_KEY", "a"}, {"HOME", "/home/u"}}, files);
  EXPECT_EQ(own.keys()->id, "A");
  EXPECT_EQ(own.region, "us-east-1");
  const auto home = access_with({{"HOME", "/home/u"}, {"AWS_DEFAULT_REGION", "eu-west-1"}}, files);
  EXPECT_EQ(home.keys()->id + " " + home.keys()->secret, "D d=1");
  EXPECT_EQ(home.region, "eu-west-1");
  const auto profile = access_with({{"AWS_SHARED_CREDENTIALS_FILE", "/keys"}, {"AWS_PROFILE", "profile-b"}}, files);
  EXPECT_EQ(profile.keys()->id + " " + profile.keys()->session, "B t");
  EXPECT_EQ(s3_keys_in(file, "none").error().message,
            "profile \"none\" needs aws_access_key_id and aws_secret_access_key");
}

TEST(S3Archive, PlaceAndKeysAreCheckedAtTheStart) {
  const base::SystemClock clock;
  net::EventLoop loop(clock);
  const auto refused = [&](const Variables& variables, std::string_view place) {
    const auto opened = open_s3_archive(loop, nullptr, access_with(variables), place);
    return opened ? std::string() : opened.error().message;
  };
  const Variables keys = {{"AWS_ACCESS_KEY_ID", "A"}, {"AWS_SECRET_ACCESS_KEY", "a"}};
  EXPECT_EQ(refused(keys, "s3://logs/spark"), "");
  EXPECT_EQ(refused(keys, "s3://"), "\"s3://\": use s3://BUCKET/PATH");
  EXPECT_EQ(refused({{"HOME", "/h"}}, "s3://logs"),
            "no keys for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE "
            "(/h/.aws/credentials: no such file)");
  Variables wrong = keys;
  wrong["AWS_ENDPOINT_URL"] = "minio:9000";
  EXPECT_NE(refused(wrong, "s3://logs").find("AWS_ENDPOINT_URL"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::gateway
