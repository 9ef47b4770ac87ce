// Finds the end of a JSON object or array by its brackets, at memory speed. It does not validate; the decoder does. It
// keeps state, so the bytes may come in pieces.
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
  enum class Steps { kWidest, kSmall };  // small ones are for tests: they are what a processor without AVX2 does
  std::optional<std::size_t> feed(std::string_view bytes, Steps steps = Steps::kWidest);
  // Positions of the objects and arrays directly within the last complete value: first byte and end, relative to the
  // value. Computed while its end is found, so that callers need no second scan.
  struct Inner {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t count = 0;
  };
  const Inner& inner() const { return ended_; }
  // Between two values: nothing of a next one was seen.
  bool idle() const { return depth_ == 0 && !in_string_ && !escaped_; }

 private:
  template <class Machine>
  std::optional<std::size_t> blocks(std::string_view bytes, std::size_t& at);
  std::optional<std::size_t> wide_blocks(std::string_view bytes, std::size_t& at);
  std::optional<std::size_t> finish_at(std::size_t length);
  void open(std::size_t at);
  bool close(std::size_t at);  // the value ends here
  std::int64_t depth_ = 0;
  std::size_t before_ = 0;  // bytes of the value that came with earlier calls
  Inner inner_;
  Inner ended_;
  bool in_string_ = false;
  bool escaped_ = false;  // the next byte follows a backslash
};

}  // namespace tidemark::kube
