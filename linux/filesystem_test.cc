#include "linux/filesystem.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

TEST(Filesystem, HoldsWhatTheMachineSaysOfIt) {
  const testing::Tree tree;
  const auto bytes = filesystem_bytes(tree.root());
  ASSERT_TRUE(bytes && *bytes);
  EXPECT_EQ(static_cast<std::uintmax_t>(**bytes), std::filesystem::space(tree.root()).capacity);
}

TEST(Filesystem, WhatIsNotThereHasNone) {
  const testing::Tree tree;
  EXPECT_EQ(filesystem_bytes(tree.path("no/such")).value(), std::nullopt);
}

}  // namespace
}  // namespace tidemark::linux
