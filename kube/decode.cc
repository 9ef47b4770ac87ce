#include "kube/decode.h"

#include <limits>

#include "base/text.h"
#include "kube/json_split.h"

namespace tidemark::kube {
namespace {

// Some null stands where an optional value may be: it is absent then, as for a Go pointer.
template <class T, class Read>
void read_optional(base::JsonReader& reader, std::optional<T>& out, Read&& read) {
  if (reader.peek() == base::JsonReader::Type::kNull) {
    reader.skip();
    out.reset();
    return;
  }
  T value{};
  read(value);
  if (reader.ok()) out = value;
}

// Stops a walk early; never visible outside.
constexpr const char* kEnough = "enough was read";

bool read_identity_of(std::string_view object, Identity& out, Error& error) {
  base::JsonReader reader(object);
  bool enough = false;
  bool metadata = false;
  reader.object([&](std::string_view key) {
    if (key == "apiVersion") {
      reader.string(out.api_version);
    } else if (key == "kind") {
      reader.string(out.kind);
    } else if (key == "metadata") {
      reader.object([&](std::string_view member) {
        if (member == "namespace") {
          reader.string(out.ns);
        } else if (member == "name") {
          reader.string(out.name);
        } else if (member == "uid") {
          reader.string(out.uid);
        } else if (member == "resourceVersion") {
          reader.string(out.resource_version);
        } else {
          reader.skip();
        }
      });
      metadata = reader.ok();
    } else {
      reader.skip();
    }
    if (reader.ok() && metadata && !out.kind.empty() && !out.api_version.empty()) {
      enough = true;
      reader.fail_here(kEnough);
    }
  });
  if (enough) return true;
  if (auto end = reader.finish(); !end) {
    error = std::move(end).error();
    return false;
  }
  return true;
}

void read_list_metadata(base::JsonReader& reader, ListMeta& out) {
  reader.object([&](std::string_view key) {
    if (key == "resourceVersion") {
      reader.string(out.resource_version);
    } else if (key == "continue") {
      reader.string(out.continue_token);
    } else if (key == "remainingItemCount") {
      read_optional(reader, out.remaining_item_count, [&](std::int64_t& value) { reader.integer(value); });
    } else {
      reader.skip();
    }
  });
}

}  // namespace

void Decoder::text(Text& out) {
  if (reader_.peek() == base::JsonReader::Type::kNull) return skip();
  std::string_view read;
  if (reader_.string_view(read)) out = Text::plain(read);
}

void Decoder::interned(Text& out) {
  if (reader_.peek() == base::JsonReader::Type::kNull) return skip();
  std::string_view read;
  if (reader_.string_view(read)) out = interner_.intern(read);
}

void Decoder::integer32(std::int32_t& out) {
  std::int64_t wide = out;
  if (!reader_.integer(wide)) return;
  if (wide < std::numeric_limits<std::int32_t>::min() || wide > std::numeric_limits<std::int32_t>::max()) {
    return fail(base::cat("wanted a number of 32 bits, found ", wide));
  }
  out = static_cast<std::int32_t>(wide);
}

void Decoder::optional(std::optional<std::int64_t>& out) {
  read_optional(reader_, out, [&](std::int64_t& value) { integer(value); });
}

void Decoder::optional(std::optional<std::int32_t>& out) {
  read_optional(reader_, out, [&](std::int32_t& value) { integer32(value); });
}

void Decoder::optional(std::optional<bool>& out) {
  read_optional(reader_, out, [&](bool& value) { boolean(value); });
}

void Decoder::time(std::optional<base::WallTime>& out) {
  read_optional(reader_, out, [&](base::WallTime& value) {
    std::string_view read;
    if (!reader_.string_view(read)) return;
    const auto parsed = base::parse_rfc3339(read);
    if (!parsed) return fail(base::cat("wanted an RFC 3339 time, found ", base::in_quotes(read)));
    value = *parsed;
  });
}

void Decoder::duration(std::optional<base::Duration>& out) {
  read_optional(reader_, out, [&](base::Duration& value) {
    std::string_view read;
    if (!reader_.string_view(read)) return;
    const auto parsed = base::parse_go_duration(read);
    if (!parsed) return fail(base::cat("wanted a duration like 5m0s, found ", base::in_quotes(read)));
    value = *parsed;
  });
}

void Decoder::fail(std::string why) {
  if (!ok()) return;
  error_ = std::move(why);
  reader_.fail_here("wrong value");
}

bool Decoder::in_bytes(std::string_view text) const {
  const std::less<const char*> before;
  return !before(text.data(), bytes_.data()) && before(text.data(), bytes_.data() + bytes_.size());
}

void Decoder::view_in(std::string& room, std::string_view& out) {
  std::string_view read = out;  // null leaves it as it is
  if (!reader_.string_view(read)) return;
  if (!in_bytes(read)) {
    room.assign(read);
    read = room;
  }
  out = read;
}

std::string Decoder::path() const {
  std::string out;
  for (std::size_t i = 0; i < depth_ && i < kPathMax; ++i) {
    if (const auto* index = std::get_if<std::size_t>(&path_[i])) {
      out += base::cat("[", *index, "]");
      continue;
    }
    std::string_view key = std::get<std::string_view>(path_[i]);
    if (!in_bytes(key)) key = "(escaped)";
    // Keys of labels and the like have dots and slashes of their own.
    if (key.find_first_of("./\" ") != std::string_view::npos || !base::valid_utf8(key)) {
      out += base::cat("[", base::in_quotes(key), "]");
    } else {
      if (!out.empty()) out += ".";
      out += key.substr(0, 80);
    }
  }
  if (depth_ > kPathMax) out += "…";
  return out;
}

Result<void> Decoder::finish(std::string_view kind) {
  if (ok()) {
    auto end = reader_.finish();
    if (end) return {};
  }
  Identity identity;
  Error ignored;
  read_identity_of(bytes_, identity, ignored);
  std::string where(kind);
  if (!identity.name.empty()) {
    where += " ";
    if (!identity.ns.empty()) where += identity.ns + "/";
    where += identity.name;
  }
  const std::string place = path();
  if (!place.empty()) where += ": " + place;
  Error error = error_.empty() ? reader_.error() : Error{ErrorKind::kInvalid, error_, 0, 0};
  error.kind = ErrorKind::kInvalid;
  return base::fail(std::move(error).within(where));
}

namespace {

// The envelope's members; stops in front of the items and answers where their value begins.
std::optional<std::size_t> read_envelope(base::JsonReader& reader, ListMeta& meta, std::string& kind) {
  std::optional<std::size_t> items_at;
  reader.object([&](std::string_view key) {
    if (key == "items") {
      if (reader.peek() != base::JsonReader::Type::kArray) {
        items_at = std::nullopt;
        if (reader.array([] {})) items_at = reader.offset();  // null: no items
        return;
      }
      items_at = reader.offset();
      reader.fail_here(kEnough);
    } else if (key == "metadata") {
      read_list_metadata(reader, meta);
    } else if (key == "kind") {
      reader.string(kind);
    } else {
      reader.skip();
    }
  });
  return items_at;
}

std::size_t after_blanks(std::string_view text, std::size_t at) {
  const std::size_t found = text.find_first_not_of(" \n\r\t", at);
  return found == std::string_view::npos ? text.size() : found;
}

// Hands out the elements of the array at `at`; answers where it ends. Only objects are elements of a list.
Result<std::size_t> split_items(std::string_view page, std::size_t at,
                                const std::function<Result<void>(std::string_view item)>& on_item) {
  const auto wanted = [&](const char* what) {
    return base::fail(ErrorKind::kInvalid, "list: at byte ", at, ": expected ", what, ", found ",
                      at < page.size() ? base::in_quotes(page.substr(at, 1)) : std::string("the end of the text"));
  };
  at = after_blanks(page, at + 1);
  if (at < page.size() && page[at] == ']') return at + 1;
  while (true) {
    if (at == page.size() || page[at] != '{') return wanted("an object");
    JsonSplitter splitter;
    const auto length = splitter.feed(page.substr(at));
    if (!length) {
      at = page.size();
      return wanted("the end of an item");
    }
    TM_TRY_VOID(on_item(page.substr(at, *length)));
    at = after_blanks(page, at + *length);
    if (at < page.size() && page[at] == ']') return at + 1;
    if (at == page.size() || page[at] != ',') return wanted(", or ]");
    at = after_blanks(page, at + 1);
  }
}

}  // namespace

Result<ListMeta> decode_list(std::string_view page, const std::function<Result<void>(std::string_view item)>& on_item) {
  ListMeta meta;
  std::string kind;
  base::JsonReader reader(page);
  const auto items_at = read_envelope(reader, meta, kind);
  if (items_at && !reader.ok()) {
    // Items are most of the page: they are split by their brackets here and read once, by their decoder. What follows
    // them is little, and is read as an object of its own.
    TM_TRY(const std::size_t end, split_items(page, *items_at, on_item));
    std::size_t next = after_blanks(page, end);
    if (next < page.size() && page[next] == ',') {
      next = after_blanks(page, next + 1);
      if (next == page.size() || page[next] != '"') {
        return base::fail(ErrorKind::kInvalid, "list, after its items: expected a member name");
      }
    } else if (next == page.size() || page[next] != '}') {
      return base::fail(ErrorKind::kInvalid, "list, after its items: expected , or }");
    }
    const std::string rest = "{" + std::string(page.substr(next));
    base::JsonReader tail(rest);
    if (read_envelope(tail, meta, kind)) return base::fail(ErrorKind::kInvalid, "list: items are there twice");
    if (auto over = tail.finish(); !over) return base::fail(std::move(over).error().within("list, after its items"));
    return meta;
  }
  if (auto end = reader.finish(); !end) return base::fail(std::move(end).error().within("list"));
  if (!items_at) {
    return base::fail(ErrorKind::kInvalid, "wanted a list with items, found ",
                      kind.empty() ? std::string("an object of no kind") : "kind " + base::in_quotes(kind));
  }
  return meta;
}

Result<ListMeta> read_list_meta(std::string_view page) {
  base::JsonReader reader(page);
  ListMeta meta;
  bool found = false;
  reader.object([&](std::string_view key) {
    if (key != "metadata") {
      reader.skip();
      return;
    }
    read_list_metadata(reader, meta);
    if (!reader.ok()) return;
    found = true;
    reader.fail_here(kEnough);
  });
  if (found) return meta;
  if (auto end = reader.finish(); !end) return base::fail(std::move(end).error().within("list"));
  return base::fail(ErrorKind::kInvalid, "wanted a list, found an object without metadata");
}

Result<Identity> read_identity(std::string_view object) {
  Identity identity;
  Error error;
  if (!read_identity_of(object, identity, error)) return base::fail(std::move(error));
  return identity;
}

}  // namespace tidemark::kube
