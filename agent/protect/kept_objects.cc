#include "agent/protect/kept_objects.h"

#include <functional>

#include "journal/whole_file.h"

namespace tidemark::agent {
namespace {

constexpr std::size_t kObjectBytesMax = std::size_t{2} << 20;  // more than an API server stores
constexpr std::size_t kListBytesMax = std::size_t{8} << 20;    // a kubelet with hundreds of pods

std::size_t bytes_max(KeptObject what) {
  return what == KeptObject::kPods ? kListBytesMax : kObjectBytesMax;
}

}  // namespace

std::string KeptObjects::path(KeptObject what) const {
  switch (what) {
    case KeptObject::kNode:
      return folder_ + "/node.json";
    case KeptObject::kNodeSlo:
      return folder_ + "/nodeslo.json";
    case KeptObject::kPods:
      break;
  }
  return folder_ + "/pods.json";
}

Result<void> KeptObjects::keep(KeptObject what, std::string_view bytes) {
  const std::size_t hash = std::hash<std::string_view>()(bytes) | 1;
  std::size_t& seen = seen_[static_cast<std::size_t>(what)];
  if (seen == hash || bytes.size() >= bytes_max(what)) return {};
  TM_TRY_VOID(journal::make_folder(folder_));
  TM_TRY_VOID(journal::write_whole(path(what), bytes));
  seen = hash;
  return {};
}

Result<void> KeptObjects::drop(KeptObject what) {
  seen_[static_cast<std::size_t>(what)] = 0;
  TM_TRY_VOID(journal::remove_whole(path(what)));
  return {};
}

Result<std::optional<std::string>> KeptObjects::read(KeptObject what) const {
  return journal::read_whole(path(what), bytes_max(what));
}

}  // namespace tidemark::agent
