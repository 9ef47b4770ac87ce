// Finds where a JSON object or array ends, by its brackets alone, as fast as memory allows. It does not validate:
// whoever decodes what was split does. State is carried over, so the bytes may come in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::kube {

class JsonSplitter {
 public:
  // `bytes` go on where the last call ended. The answer is how many of them belong to the value; nullopt: all, and it
  // is not over. After an answer the splitter is ready for the next value.
  std::optional<std::size_t> feed(std::string_view bytes);
  // Between two values: nothing of a next one was seen.
  bool idle() const { return depth_ == 0 && !in_string_ && !escaped_; }

 private:
  std::optional<std::size_t> finish_at(std::size_t length);
  std::int64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;  // the next byte follows a backslash
};

}  // namespace tidemark::kube
