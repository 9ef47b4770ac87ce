// Pages that are no objects: health, the version, discovery, schemas.
#pragma once

#include "kube/memory/registry.h"
#include "kube/memory/store.h"
#include "net/http_server.h"

namespace tidemark::kube::memory {

// Answers, and says so, where the path is one of them. `definitions` is the kind of CustomResourceDefinitions.
bool answer_document(net::HttpExchange& exchange, const net::Target& target, const Registry& registry,
                     const Store& store, int definitions);

}  // namespace tidemark::kube::memory
