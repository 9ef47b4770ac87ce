// Strings of cached objects. A Text is a handle of one pointer; equal strings of one Interner share one block.
//
//   Interner interner;
//   Text ns = interner.intern("default");   // shared with all who intern "default" here
//   Text uid = Text::plain("7c9e…");        // its own block: for what is unique anyway
//
// Interner and Texts belong to one thread (counts are not atomic): what goes to a worker is converted to model structs
// first. A Text may outlive its Interner.
//
// An Interner has a budget in bytes. Past it a text that it does not have yet is made plain, so it costs the object
// that holds it, and that one's cache has a budget of its own: all of it stays bounded, and no text is ever missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/metrics.h"

namespace tidemark::kube {

// What a heap block of this size really takes.
std::size_t allocated_bytes(std::size_t requested);
std::size_t string_bytes(const std::string& text);  // heap only: short ones lie inside the string itself
std::size_t table_growth(std::size_t size, std::size_t buckets, std::size_t added);  // at most; see below

// At most what the buckets of a hash table take more once so many are added to it. Its load factor is 1.
template <class Table>
std::size_t table_growth(const Table& table, std::size_t added = 1) {
  return table_growth(table.size(), table.bucket_count(), added);
}

class Interner;

class Text {
 public:
  Text() = default;
  Text(const Text& other) : block_(other.block_) {
    if (block_ != nullptr) ++block_->references;
  }
  Text(Text&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Text& operator=(Text other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Text() {
    if (block_ != nullptr && --block_->references == 0) release(block_);
  }

  static Text plain(std::string_view text);

  std::string_view view() const { return block_ == nullptr ? std::string_view() : block_->view(); }
  operator std::string_view() const { return view(); }
  bool empty() const { return block_ == nullptr; }
  std::size_t size() const { return view().size(); }
  // Heap bytes that this handle answers for: a shared block is its interner's cost.
  std::size_t bytes() const;

  friend bool operator==(const Text& a, const Text& b) { return a.block_ == b.block_ || a.view() == b.view(); }
  friend bool operator==(const Text& a, std::string_view b) { return a.view() == b; }
  friend auto operator<=>(const Text& a, const Text& b) { return a.view() <=> b.view(); }

 private:
  friend class Interner;
  struct Block {
    Interner* owner;  // null: plain, or its interner is gone
    std::uint32_t references;
    std::uint32_t length;
    // the characters follow
    std::string_view view() const { return {reinterpret_cast<const char*>(this + 1), length}; }
  };
  explicit Text(Block* block) : block_(block) {}
  static Block* make(std::string_view text, Interner* owner);
  static void release(Block* block);
  Block* block_ = nullptr;
};

class Interner {
 public:
  static constexpr std::size_t kBytesMax = 64 * 1024 * 1024;

  explicit Interner(std::size_t bytes_max = kBytesMax) : bytes_max_(bytes_max) {}
  // `component` is the label of its metrics; several with one label share the series, so it is one's own.
  Interner(base::Registry& metrics, std::string_view component, std::size_t bytes_max = kBytesMax);
  ~Interner();
  Interner(const Interner&) = delete;
  Interner& operator=(const Interner&) = delete;

  Text intern(std::string_view text);
  std::size_t size() const { return blocks_.size(); }
  std::size_t bytes() const;           // blocks and table
  bool full() const { return full_; }  // the last text that was new to it found no room

 private:
  friend class Text;
  // What the table takes for each text: a node of a link, the cached hash and the pointer.
  static constexpr std::size_t kNodeBytes = 3 * sizeof(void*);

  bool fits(std::size_t block_bytes) const;
  void forget(Text::Block* block);
  void show();
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    std::size_t operator()(const Text::Block* block) const { return (*this)(block->view()); }
  };
  struct Equal {
    using is_transparent = void;
    static std::string_view view(std::string_view text) { return text; }
    static std::string_view view(const Text::Block* block) { return block->view(); }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return view(a) == view(b);
    }
  };
  std::unordered_set<Text::Block*, Hash, Equal> blocks_;
  std::size_t block_bytes_ = 0;
  std::size_t bytes_max_;
  bool full_ = false;
  base::Gauge* bytes_gauge_ = nullptr;
  base::Counter* refused_ = nullptr;
};

}  // namespace tidemark::kube
