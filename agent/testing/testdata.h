// Files of agent/testdata/.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/testing/source_dir.h"

namespace tidemark::agent::testing {

inline std::string testdata(const std::string& name) {
  std::ifstream file(base::testing::from_root("agent/testdata/" + name), std::ios::binary);
  EXPECT_TRUE(file) << "agent/testdata/" << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace tidemark::agent::testing
