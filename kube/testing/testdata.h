// Answers of a real kube-apiserver 1.34, byte by byte, kept under kube/testdata/.
#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "base/testing/source_dir.h"

namespace tidemark::kube::testing {

inline std::string testdata(const std::string& name) {
  std::ifstream file(base::testing::from_root("kube/testdata/" + name), std::ios::binary);
  if (!file) throw std::runtime_error("no testdata " + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace tidemark::kube::testing
