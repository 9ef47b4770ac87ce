// From JSON bytes straight into structs, without a tree. A decoder is a function of a few lines for each sub-object; a
// component that keeps other fields than kube/objects.h writes its own struct and composes the same functions.
//
//   Decoder decoder(bytes, interner);
//   decoder.object([&](std::string_view key) {
//     if (key == "metadata") read_meta(decoder, fields, pod.meta);
//     else if (key == "spec") …
//     else decoder.skip();
//   });
//   TM_TRY_VOID(decoder.finish("Pod"));
//
// Unknown members are passed over; null means absent, as in Go. A value of the wrong kind is kInvalid and says where:
// "Pod default/web-1: spec.containers[2].resources.requests.cpu: …".
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "kube/intern.h"

namespace tidemark::kube {

class Decoder {
 public:
  static constexpr std::size_t kPathMax = 24;  // deeper places are named only so far

  Decoder(std::string_view bytes, Interner& interner) : bytes_(bytes), reader_(bytes), interner_(interner) {}

  // on_member(key) must consume exactly one value.
  template <class OnMember>
  void object(OnMember&& on_member) {
    reader_.object([&](std::string_view key) {
      push(Step{key});
      on_member(key);
      pop();
    });
  }
  template <class OnElement>
  void array(OnElement&& on_element) {
    std::size_t index = 0;
    reader_.array([&] {
      push(Step{index++});
      on_element();
      pop();
    });
  }

  void skip() { reader_.skip(); }
  void text(Text& out);      // unique strings
  void interned(Text& out);  // strings that many objects share
  void string(std::string& out) { reader_.string(out); }
  void view(std::string_view& out) { reader_.string_view(out); }  // valid until the next call
  // Valid as long as the bytes and the room, which is used where the text has escapes.
  void view_in(std::string& room, std::string_view& out);
  void integer(std::int64_t& out) { reader_.integer(out); }
  void integer32(std::int32_t& out);
  void boolean(bool& out) { reader_.boolean(out); }
  void optional(std::optional<std::int64_t>& out);
  void optional(std::optional<std::int32_t>& out);
  void optional(std::optional<bool>& out);
  void time(std::optional<base::WallTime>& out);      // metav1.Time and MicroTime
  void duration(std::optional<base::Duration>& out);  // metav1.Duration: Go's text
  void raw(std::string_view& out) { reader_.raw(out); }

  bool ok() const { return reader_.ok() && error_.empty(); }
  // The value just read is well-formed but wrong. The first one sticks.
  void fail(std::string why);

  Interner& interner() { return interner_; }
  std::string_view bytes() const { return bytes_; }
  base::JsonReader& reader() { return reader_; }

  // The end of the bytes; the error names the object (found again in the bytes, so it costs nothing when all is well).
  Result<void> finish(std::string_view kind);

 private:
  using Step = std::variant<std::string_view, std::size_t>;
  bool in_bytes(std::string_view text) const;
  void push(Step step) {
    if (depth_ < kPathMax) path_[depth_] = step;
    ++depth_;
  }
  void pop() {
    if (ok()) --depth_;  // after an error the path stays where it happened
  }
  std::string path() const;

  std::string_view bytes_;
  base::JsonReader reader_;
  Interner& interner_;
  std::array<Step, kPathMax>
      path_;  // a key that has escapes lay in the reader's scratch space: not to be read any more
  std::size_t depth_ = 0;
  std::string error_;
};

// The envelope of a list.
struct ListMeta {
  std::string resource_version;
  std::string continue_token;                        // empty on the last page
  std::optional<std::int64_t> remaining_item_count;  // an estimate of the server
};

// Hands each item's own bytes to `on_item`; its first error ends the walk. The items are split and not validated: their
// decoder does that. kind and apiVersion are not in the items of
// most lists. Bytes that are no List object are kInvalid.
Result<ListMeta> decode_list(std::string_view page, const std::function<Result<void>(std::string_view item)>& on_item);

// The same without the items. Cheap: stops after metadata, which every server sends first; what follows is not checked.
Result<ListMeta> read_list_meta(std::string_view page);

// kind, namespace, name, uid and revision of any object, for routing and messages. Cheap: stops once apiVersion, kind
// and metadata are read, which every server sends first; what follows is not checked.
struct Identity {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
};
Result<Identity> read_identity(std::string_view object);

}  // namespace tidemark::kube
