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
  enum class Steps { kWidest, kSmall };  // small ones are for tests: they are what a processor without AVX2 does
  std::optional<std::size_t> feed(std::string_view bytes, Steps steps = Steps::kWidest);
  // Objects and arrays right within the value that ended last: where the first byte of the last one is and its end is,
  // counted from the value's own first byte. Known as the value's end is found, so that who wants them need not look
  // again.
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
