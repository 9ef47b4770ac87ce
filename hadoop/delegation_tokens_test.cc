#include "hadoop/delegation_tokens.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace tidemark::hadoop {
namespace {

// Made by Token and Credentials of hadoop-common 3.4.3: an identifier of 200 bytes, a password of 20.
constexpr std::string_view kUrl =
    "j8gABw4VHCMqMTg_Rk1UW2JpcHd-hYyTmqGor7a9xMvS2eDn7vX8AwoRGB8mLTQ7QklQV15lbHN6gYiPlp2kq7K5wMfO1dzj6vH4_wYNFBsiKTA3"
    "PkVMU1phaG92fYSLkpmgp661vMPK0djf5u30-wIJEBceJSwzOkFIT1ZdZGtyeYCHjpWco6qxuL_GzdTb4unw9_4FDBMaISgvNj1ES1JZYGdudXyD"
    "ipGYn6attLvCydDX3uXs8_oBCA8WHSQrMjlAR05VXGNqcRT6-fj39vX08_Lx8O_u7ezr6uno5xJXRUJIREZTIGRlbGVnYXRpb24A";
constexpr std::string_view kCredentials =
    "SERUUwABDjEyNy4wLjAuMTo4MDIwj8gABw4VHCMqMTg/Rk1UW2JpcHd+hYyTmqGor7a9xMvS2eDn7vX8AwoRGB8mLTQ7QklQV15lbHN6gYiPlp2k"
    "q7K5wMfO1dzj6vH4/wYNFBsiKTA3PkVMU1phaG92fYSLkpmgp661vMPK0djf5u30+wIJEBceJSwzOkFIT1ZdZGtyeYCHjpWco6qxuL/GzdTb4unw"
    "9/4FDBMaISgvNj1ES1JZYGdudXyDipGYn6attLvCydDX3uXs8/oBCA8WHSQrMjlAR05VXGNqcRT6+fj39vX08/Lx8O/u7ezr6uno5xVIREZTX0RF"
    "TEVHQVRJT05fVE9LRU4OMTI3LjAuMC4xOjgwMjAA";

TEST(DelegationTokens, TokenOfWebHdfsBecomesCredentialsAsHadoopWritesThem) {
  auto token = parse_delegation_token(kUrl);
  ASSERT_TRUE(token) << token.error().message;
  EXPECT_EQ(token->identifier.size(), 200U);
  EXPECT_EQ(token->password.size(), 20U);
  EXPECT_EQ(token->kind, "WEBHDFS delegation");
  token->kind = "HDFS_DELEGATION_TOKEN";
  token->service = "127.0.0.1:8020";
  EXPECT_EQ(base::base64_encode(encode_credentials({*token})), kCredentials);
}

TEST(DelegationTokens, CutTokenIsRefused) {
  for (std::size_t size = 0; size + 4 < kUrl.size(); size += 3) {
    EXPECT_FALSE(parse_delegation_token(kUrl.substr(0, size))) << size;
  }
  EXPECT_FALSE(parse_delegation_token("not base64!"));
  EXPECT_FALSE(parse_delegation_token("_w")) << "a negative length";
}

}  // namespace
}  // namespace tidemark::hadoop
