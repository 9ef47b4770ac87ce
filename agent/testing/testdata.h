// Files of agent/testdata/.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace tidemark::agent::testing {

inline std::string testdata(const std::string& name) {
  std::ifstream file(std::string(TIDEMARK_SOURCE_DIR) + "/agent/testdata/" + name, std::ios::binary);
  EXPECT_TRUE(file) << "agent/testdata/" << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace tidemark::agent::testing
