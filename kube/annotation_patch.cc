#include "kube/annotation_patch.h"

#include "base/json.h"

namespace tidemark::kube {

std::string annotation_patch(std::string_view key, std::string_view value) {
  std::string body;
  base::JsonWriter(body)
      .begin_object()
      .key("metadata")
      .begin_object()
      .key("annotations")
      .begin_object()
      .member(key, value)
      .end_object()
      .end_object()
      .end_object();
  return body;
}

}  // namespace tidemark::kube
