// What the decoders of whole objects share; a new kind gets a file of its own beside kube/node_metric_decode.cc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "kube/decode.h"
#include "kube/objects.h"

namespace tidemark::kube {

// A list that comes twice replaces the first, as in Go.
template <class T, class Read>
void read_vector(Decoder& decoder, std::vector<T>& out, Read&& read) {
  constexpr std::size_t kFirst = 16;  // grown once or twice, not six times
  out.clear();
  decoder.array([&] {
    if (out.size() == out.capacity()) out.reserve(std::max(kFirst, 2 * out.size()));
    read(out.emplace_back());
  });
  out.shrink_to_fit();
}

// What every decoder checks of the whole: that it is an object of this kind (items of lists carry none) with a name.
class KindCheck {
 public:
  KindCheck(Decoder& decoder, std::string_view kind) : decoder_(decoder), kind_(kind) {}

  // Answers whether the member was one of its own.
  bool take(std::string_view key) {
    if (key != "kind") return false;
    std::string_view found;
    decoder_.view(found);
    if (!found.empty() && found != kind_) {
      decoder_.fail(base::cat("wanted kind ", kind_, ", found ", base::in_quotes(found)));
    }
    return true;
  }

  Result<void> finish(const ObjectMeta& meta) {
    if (decoder_.ok() && meta.name.empty()) decoder_.fail("it has no metadata.name");
    return decoder_.finish(kind_);
  }

 private:
  Decoder& decoder_;
  std::string_view kind_;
};

}  // namespace tidemark::kube
