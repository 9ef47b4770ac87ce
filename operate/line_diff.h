// What changed between two texts, line by line, for people: "-" and "+" lines with a few unchanged ones around them.
#pragma once

#include <string>
#include <string_view>

namespace tidemark::operate {

inline constexpr std::size_t kDiffLinesMax = 2000;  // of each side; longer texts are only said to differ

// Empty where they are equal. JSON is laid out first, so that a change within one long line can be seen.
std::string line_diff(std::string_view before, std::string_view after);

}  // namespace tidemark::operate
