// Table output: the columns of a kind and the cells of an object, as kubectl prints them.
#pragma once

#include "base/clock.h"
#include "base/json.h"
#include "kube/memory/kinds.h"

namespace tidemark::kube::memory {

const std::vector<Column>& columns_of(const KindVersion& version);
Json column_definitions(const KindVersion& version);
Json cells_of(const KindVersion& version, const Json& object, base::WallTime now);

// How kubectl writes a span: "5s", "3m10s", "2h5m", "4d3h", "400d".
std::string human_duration(base::Duration span);

// The subset of JSONPath that printer columns use: .a.b[0], .a['b.c'], [?(@.type=="Ready")], [*]. Null where nothing is
// there; several results are joined by commas.
Json json_path(const Json& value, std::string_view path);

}  // namespace tidemark::kube::memory
