#include "journal/record.h"

#include "base/hash.h"

namespace tidemark::journal {
namespace {

std::optional<Unpacker> of_kind(std::string_view payload, char kind) {
  if (payload.empty() || payload[0] != kind) return std::nullopt;
  return Unpacker(payload.substr(1));
}

}  // namespace

void Packer::natural(std::uint64_t value) {
  while (value >= 0x80) {
    out_ += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out_ += static_cast<char>(value);
}

void Packer::number(std::int64_t value) {
  natural(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
}

void Packer::text(std::string_view value) {
  natural(value.size());
  out_ += value;
}

std::uint64_t Unpacker::natural() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) break;
    const auto next = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    if (shift == 63 && next > 1) break;
    value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
    if ((next & 0x80) != 0) continue;
    if (next == 0 && shift > 0) break;  // one form for each number
    return value;
  }
  fail();
  return 0;
}

std::int64_t Unpacker::number() {
  const std::uint64_t value = natural();
  return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

std::string_view Unpacker::text() {
  const std::uint64_t size = natural();
  if (size > rest_.size()) fail();
  if (!ok_) return {};
  const std::string_view value = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return value;
}

char Unpacker::byte() {
  if (rest_.empty()) {
    fail();
    return 0;
  }
  const char value = rest_.front();
  rest_.remove_prefix(1);
  return value;
}

std::string encode(const Start& start) {
  std::string out(1, kStart);
  Packer packer(out);
  packer.number(start.schema);
  packer.number(start.version);
  packer.text(start.program);
  packer.text(start.identity);
  packer.number(start.opened.since_epoch.count());
  packer.text(start.owner);
  return out;
}

std::optional<Start> decode_start(std::string_view payload) {
  auto in = of_kind(payload, kStart);
  if (!in) return std::nullopt;
  Start start;
  start.schema = in->number();
  start.version = in->number();
  start.program = in->text();
  start.identity = in->text();
  start.opened.since_epoch = base::Duration(in->number());
  start.owner = in->text();
  if (!in->at_end()) return std::nullopt;
  return start;
}

std::shared_ptr<const Blob> make_blob(std::string bytes) {
  const std::uint64_t hash = base::TextHash().add(bytes).value();
  return std::make_shared<const Blob>(Blob{hash, std::move(bytes)});
}

std::string encode(const Blob& blob) {
  std::string out(1, kBlob);
  out += blob.bytes;
  return out;
}

std::optional<Blob> decode_blob(std::string_view payload) {
  if (payload.empty() || payload[0] != kBlob) return std::nullopt;
  payload.remove_prefix(1);
  return Blob{base::TextHash().add(payload).value(), std::string(payload)};
}

std::string encode(const Lost& lost) {
  std::string out(1, kLost);
  Packer(out).natural(lost.records);
  return out;
}

std::optional<Lost> decode_lost(std::string_view payload) {
  auto in = of_kind(payload, kLost);
  if (!in) return std::nullopt;
  const Lost lost{in->natural()};
  if (!in->at_end()) return std::nullopt;
  return lost;
}

}  // namespace tidemark::journal
