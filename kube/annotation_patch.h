// The body of a merge patch that gives an object one annotation and touches nothing else of it.
#pragma once

#include <string>
#include <string_view>

namespace tidemark::kube {

std::string annotation_patch(std::string_view key, std::string_view value);

}  // namespace tidemark::kube
