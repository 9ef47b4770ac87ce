// Request bodies in Kubernetes' protobuf encoding, which typed Go clients (kubectl create configmap) send: read into
// the same tree as JSON. Answers never use it.
#pragma once

#include <string_view>

#include "base/json.h"
#include "kube/memory/api_error.h"

namespace tidemark::kube::memory {

extern const char* const kProtobufLines[];  // protobuf_fields_data.cc; ends with nullptr

// The built-in kinds and DeleteOptions. Another kind, or one with fields of free form, is 415; damaged bytes are 400.
Answer<Json> parse_protobuf(std::string_view body);

}  // namespace tidemark::kube::memory
