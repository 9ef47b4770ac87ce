#include "kube/memory/kinds.h"

#include <algorithm>

#include "base/text.h"

namespace tidemark::kube::memory {

const KindVersion* Kind::version(std::string_view version_name) const {
  for (const KindVersion& row : versions)
    if (row.name == version_name) return &row;
  return nullptr;
}

std::string Kind::api_version(std::string_view version_name) const {
  return group.empty() ? std::string(version_name) : base::cat(group, "/", version_name);
}

std::string Kind::resource_text() const {
  return group.empty() ? plural : base::cat(plural, ".", group);
}

KindPtr KindTable::find(std::string_view group, std::string_view version, std::string_view plural) const {
  KindPtr kind = find_group(group, plural);
  if (kind == nullptr) return nullptr;
  const KindVersion* row = kind->version(version);
  return row != nullptr && row->served ? kind : nullptr;
}

KindPtr KindTable::find_kind(std::string_view group, std::string_view version, std::string_view kind_name) const {
  for (const KindPtr& kind : rows_) {
    if (kind->group != group || kind->name != kind_name) continue;
    const KindVersion* row = kind->version(version);
    if (row != nullptr && row->served) return kind;
  }
  return nullptr;
}

KindPtr KindTable::find_group(std::string_view group, std::string_view plural) const {
  for (const KindPtr& kind : rows_)
    if (kind->plural == plural && kind->group == group) return kind;
  return nullptr;
}

void KindTable::put(KindPtr kind) {
  ++generation_;
  for (KindPtr& row : rows_) {
    if (row->group == kind->group && row->plural == kind->plural) {
      row = std::move(kind);
      return;
    }
  }
  rows_.push_back(std::move(kind));
}

void KindTable::remove(std::string_view group, std::string_view plural) {
  ++generation_;
  std::erase_if(rows_, [&](const KindPtr& kind) { return kind->group == group && kind->plural == plural; });
}

}  // namespace tidemark::kube::memory
