#include "agent/tasks/group_path.h"

#include <algorithm>

#include "agent/tasks/task_list.h"
#include "base/text.h"
#include "model/task.h"

namespace tidemark::agent {
namespace {

constexpr std::size_t kPartBytesMax = 255;  // NAME_MAX

Result<void> append(std::string& path, std::string_view text) {
  if (text.size() > model::kTaskPathBytesMax) {
    return fail(ErrorKind::kInvalid, "a group's path of ", text.size(), " bytes: at most ", model::kTaskPathBytesMax);
  }
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorKind::kInvalid, "the group's path ", base::in_quotes(text), " ", why);
  };
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    return refuse("has control characters");
  }
  for (const std::string_view part : base::split(text, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return refuse("leads up: name it without \"..\"");
    if (part.size() > kPartBytesMax) return refuse("has a part that is too long for a name");
    if (!path.empty()) path += '/';
    path += part;
  }
  if (path.size() > model::kTaskPathBytesMax) {
    return fail(ErrorKind::kInvalid, "a group's path of ", path.size(), " bytes: at most ", model::kTaskPathBytesMax);
  }
  return {};
}

}  // namespace

Result<std::string> group_path(std::string_view text) {
  return group_path({text});
}

Result<std::string> group_path(std::initializer_list<std::string_view> parts) {
  std::string path;
  for (const std::string_view part : parts) TM_TRY_VOID(append(path, part));
  return path;
}

Result<std::string> group_path_below(std::string_view parent, std::string_view text) {
  TM_TRY(std::string path, group_path(text));
  if (path == parent || !in_group(path, parent)) {
    return fail(ErrorKind::kInvalid, "the group ", base::in_quotes(path), " is not below ",
                parent.empty() ? std::string("the root") : base::in_quotes(parent),
                ", where this source may have groups");
  }
  return path;
}

}  // namespace tidemark::agent
