#include "operate/components.h"

#include <gtest/gtest.h>

namespace tidemark::operate {
namespace {

TEST(Components, TakesTheVersionFromTheImage) {
  EXPECT_EQ(version_of_image("registry.example:5000/tidemark:v1.2"), "v1.2");
  EXPECT_EQ(version_of_image("tidemark"), "");
  EXPECT_EQ(version_of_image("registry.example:5000/tidemark"), "");
  EXPECT_EQ(version_of_image("tidemark:v1@sha256:0123456789abcdef0123"), "sha256:0123456789ab");
}

}  // namespace
}  // namespace tidemark::operate
