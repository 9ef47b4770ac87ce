#include "kube/intern.h"

#include <algorithm>
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

std::size_t table_growth(std::size_t size, std::size_t buckets, std::size_t added) {
  if (size + added <= buckets) return 0;
  // libstdc++ doubles, and goes on to the next of its primes, each of which is at most a ninth above the one before.
  constexpr std::size_t kLeast = 16;
  const std::size_t grown = std::max({buckets * 9 / 4, (size + added) * 9 / 8, kLeast});
  return allocated_bytes(grown * sizeof(void*)) - allocated_bytes(buckets * sizeof(void*));
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
    block->owner->forget(block);
  }
  ::operator delete(block);
}

Interner::Interner(base::Registry& metrics, std::string_view component, std::size_t bytes_max)
    : bytes_max_(bytes_max),
      bytes_gauge_(&metrics.gauge("tidemark_interned_bytes", "Bytes of the texts that objects held in caches share.",
                                  {{"component", component}})),
      refused_(&metrics.counter("tidemark_interned_refused_total",
                                "Texts kept with their object alone because the shared ones are over their budget.",
                                {{"component", component}})) {}

Interner::~Interner() {
  for (Text::Block* block : blocks_) block->owner = nullptr;
}

void Interner::show() {
  if (bytes_gauge_ != nullptr) bytes_gauge_->set(static_cast<double>(bytes()));
}

void Interner::forget(Text::Block* block) {
  block_bytes_ -= allocated_bytes(sizeof(Text::Block) + block->length);
  blocks_.erase(block);
  show();
}

bool Interner::fits(std::size_t block_bytes) const {
  return bytes() + block_bytes + allocated_bytes(kNodeBytes) + table_growth(blocks_) <= bytes_max_;
}

Text Interner::intern(std::string_view text) {
  if (text.empty()) return {};
  if (auto at = blocks_.find(text); at != blocks_.end()) {
    ++(*at)->references;
    return Text(*at);
  }
  const std::size_t block_bytes = allocated_bytes(sizeof(Text::Block) + text.size());
  full_ = !fits(block_bytes);
  if (full_) {
    if (refused_ != nullptr) refused_->add();
    return Text::plain(text);
  }
  Text made(Text::make(text, this));
  blocks_.insert(made.block_);
  block_bytes_ += block_bytes;
  show();
  return made;
}

std::size_t Interner::bytes() const {
  return block_bytes_ + blocks_.size() * allocated_bytes(kNodeBytes) +
         allocated_bytes(blocks_.bucket_count() * sizeof(void*));
}

}  // namespace tidemark::kube
