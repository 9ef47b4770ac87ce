#include "kube/memory/protobuf.h"

// Any bytes end in a tree or an error.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string body("k8s\0", 4);
  body.append(reinterpret_cast<const char*>(data), size);
  if (const auto parsed = tidemark::kube::memory::parse_protobuf(body)) static_cast<void>(parsed->dump());
  return 0;
}
