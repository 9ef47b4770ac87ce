// One file of a group, read and understood: what every reader of this folder does.
#pragma once

#include <optional>
#include <utility>

#include "base/result.h"
#include "linux/cgroup/group.h"

namespace tidemark::linux {

// `parse` makes a Result of the text; an error gets the file's path.
template <class Parse>
auto read_parsed(const Group& group, File file, Buffer& buffer, Parse parse)
    -> Result<std::optional<typename decltype(parse(std::string_view()))::value_type>> {
  const auto text = group.read(file, buffer);
  if (!text) return fail(text.error());
  if (!*text) return std::nullopt;
  auto value = parse(**text);
  if (!value) return fail(std::move(value).error().within(group.place(file).text()));
  return std::move(*value);
}

}  // namespace tidemark::linux
