#include "journal/reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "journal/frame.h"
#include "journal/store.h"

namespace tidemark::journal {
namespace {

// Above a writer's limit (its bound plus one record), so that a wrong file cannot exhaust memory.
constexpr std::size_t kReadMax = static_cast<std::size_t>(kSegmentMax) + 3 * kPayloadMax;

}  // namespace

Damage& Damage::operator+=(const Damage& other) {
  torn_bytes += other.torn_bytes;
  damaged_bytes += other.damaged_bytes;
  unreadable += other.unreadable;
  lost += other.lost;
  return *this;
}

std::string describe(const Damage& damage) {
  std::string out;
  const auto add = [&out](const auto& count, std::string_view what) {
    if (count != 0) out += base::cat(out.empty() ? "" : "; ", count, what);
  };
  add(damage.torn_bytes, " bytes of a record that was cut off (its writer died in the middle of it) are left out");
  add(damage.damaged_bytes, " damaged bytes are passed over");
  add(damage.unreadable, " records cannot be read by this program");
  add(damage.lost, " records were never written: the disk did not take them");
  return out;
}

Segment Segment::parse(std::string bytes) {
  Segment segment;
  segment.bytes_ = std::make_unique<const std::string>(std::move(bytes));
  FrameReader frames(*segment.bytes_);
  while (const auto payload = frames.next()) {
    const char kind = payload->empty() ? 0 : payload->front();
    if (kind >= kFirstOfOwner) {
      segment.records_.push_back(*payload);
    } else if (kind == kBlob) {
      if (const auto blob = decode_blob(*payload)) segment.blobs_.emplace(blob->hash, payload->substr(1));
    } else if (const auto start = decode_start(*payload); start && !segment.start_) {
      segment.start_ = start;
    } else if (const auto lost = decode_lost(*payload)) {
      segment.damage_.lost += lost->records;
    } else {
      ++segment.damage_.unreadable;
    }
  }
  (frames.torn() ? segment.damage_.torn_bytes : segment.damage_.damaged_bytes) += frames.passed_over();
  if (!segment.start_) {
    segment.damage_.unreadable += segment.records_.size();
    segment.records_.clear();
  }
  return segment;
}

std::optional<std::string_view> Segment::blob(std::uint64_t hash) const {
  const auto at = blobs_.find(hash);
  return at == blobs_.end() ? std::nullopt : std::optional(at->second);
}

Result<Reader> Reader::open(const std::string& directory) {
  Reader reader;
  TM_TRY(reader.paths_, segments_in(directory));
  return reader;
}

Result<std::optional<Segment>> Reader::read(std::size_t place) const {
  const std::string& path = paths_[place];
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::optional<Segment>();
  if (!file) return base::fail_errno(errno, base::cat("open ", path));
  std::string bytes;
  std::string piece(std::size_t{1} << 18, '\0');
  while (bytes.size() < kReadMax) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::fail_errno(errno, base::cat("read ", path));
    if (count == 0) break;
    bytes.append(piece, 0, static_cast<std::size_t>(count));
  }
  return std::optional(Segment::parse(std::move(bytes)));
}

}  // namespace tidemark::journal
