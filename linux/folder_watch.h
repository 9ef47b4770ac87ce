// Folders that come and go (inotify): a pod is known when its group is made, not at the next look around.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

enum class FolderChangeKind : std::uint8_t {
  kMade,    // a folder in a watched one
  kGone,    // a folder in a watched one
  kClosed,  // the watched folder itself is gone, and its watch with it. Comes after the last descriptor of it is
            // closed; the watch of its parent reports it at once
  kLost,    // more changed than the kernel keeps: everything has to be looked at again
};

struct FolderChange {
  FolderChangeKind kind = FolderChangeKind::kLost;
  int watch = -1;         // what add() gave; -1 for kLost
  std::string_view name;  // of the folder, until the next call; kMade and kGone only
};

// Events are hints: the folder may be gone again, and folders from before add() are not reported.
class FolderWatch {
 public:
  static Result<FolderWatch> open();

  // Twice for one directory gives the same number. nullopt: it is gone. kExhausted: fs.inotify.max_user_watches.
  Result<std::optional<int>> add(const Directory&, const Place&);
  void remove(int watch);

  // Without waiting; nullopt: nothing new. The descriptor is readable when there is.
  Result<std::optional<FolderChange>> next();
  int fd() const { return fd_.get(); }

 private:
  explicit FolderWatch(Fd fd) : fd_(std::move(fd)) {}

  static constexpr std::size_t kEventBytes = 8192;  // some hundred names; one needs 272 at most
  Fd fd_;
  Buffer buffer_{kEventBytes};
  std::size_t at_ = 0, end_ = 0;  // events in the buffer, not yet returned
};

}  // namespace tidemark::linux
