#include "kube/intern.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "base/check.h"

namespace tidemark::kube {

std::size_t allocated_bytes(std::size_t requested) {
  if (requested == 0) return 0;
  constexpr std::size_t kHeader = 8, kGrain = 16, kLeast = 32;
  const std::size_t chunk = (requested + kHeader + kGrain - 1) / kGrain * kGrain;
  return chunk < kLeast ? kLeast : chunk;
}

std::size_t string_bytes(const std::string& text) {
  return text.capacity() < sizeof(std::string) / 2 ? 0 : allocated_bytes(text.capacity() + 1);
}

Text::Block* Text::make(std::string_view text, Interner* owner) {
  if (text.empty()) return nullptr;
  TM_CHECK(text.size() <= std::numeric_limits<std::uint32_t>::max(), "no object of Kubernetes comes near 4 GiB");
  void* memory = ::operator new(sizeof(Block) + text.size());
  Block* block = new (memory) Block{owner, 1, static_cast<std::uint32_t>(text.size())};
  std::memcpy(static_cast<char*>(memory) + sizeof(Block), text.data(), text.size());
  return block;
}

Text Text::plain(std::string_view text) {
  return Text(make(text, nullptr));
}

std::size_t Text::bytes() const {
  return block_ == nullptr || block_->owner != nullptr ? 0 : allocated_bytes(sizeof(Block) + block_->length);
}

void Text::release(Block* block) {
  if (block->owner != nullptr) {
    block->owner->block_bytes_ -= allocated_bytes(sizeof(Block) + block->length);
    block->owner->blocks_.erase(block);
  }
  ::operator delete(block);
}

Interner::~Interner() {
  for (Text::Block* block : blocks_) block->owner = nullptr;
}

Text Interner::intern(std::string_view text) {
  if (text.empty()) return {};
  if (auto at = blocks_.find(text); at != blocks_.end()) {
    ++(*at)->references;
    return Text(*at);
  }
  Text made(Text::make(text, this));
  blocks_.insert(made.block_);
  block_bytes_ += allocated_bytes(sizeof(Text::Block) + text.size());
  return made;
}

std::size_t Interner::bytes() const {
  // A node of the table: its link, the cached hash, the pointer.
  constexpr std::size_t kNodeBytes = 3 * sizeof(void*);
  return block_bytes_ + blocks_.size() * allocated_bytes(kNodeBytes) +
         allocated_bytes(blocks_.bucket_count() * sizeof(void*));
}

}  // namespace tidemark::kube
