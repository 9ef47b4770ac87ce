// Files of the kernel: directories held open, text read into a buffer that is kept. No module of this folder opens by
// an absolute path twice, and none allocates for a reading that succeeds.
//
// Three answers, never mixed: a value; std::nullopt if the owner of the file is gone (a removed group, a dead process);
// an Error if it exists and could not be read. ErrorKind::kUnsupported means that the facility is missing: the kernel
// has no such file, or it is switched off. Nothing reads as zero by default.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace tidemark::linux {

// Which directory this is, for as long as the machine runs: on 64-bit machines the inode number of a cgroup is never
// given twice, so a group that was removed and made again under its old name is another one.
struct Identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const Identity&) const = default;
};

struct Directory {
  Fd fd;  // O_RDONLY, not O_PATH: perf_event_open() takes no other
  Identity identity;
};

inline constexpr std::size_t kBufferBytes = 64 * 1024;  // io.stat of some hundred disks, cgroup.procs of some thousand

// The buffer for texts; one for a whole pass. The result of a reading points into it and is valid until the next one.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes = kBufferBytes)
      : bytes_(std::make_unique_for_overwrite<char[]>(bytes)), size_(bytes) {}
  std::span<char> space() { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;  // not zeroed: pages that no file needed are never touched
  std::size_t size_;
};

// Where an error says it happened: put together only when there is one.
struct Place {
  std::string_view folder;
  std::string_view group;  // may be empty
  std::string_view name;   // may be empty
  std::string text() const;
};

// nullopt: it does not exist.
Result<std::optional<Directory>> open_directory(const std::string& path);

// `relative` has no part "." or "..", and no link is followed: a path from a provider cannot leave its directory. Empty
// means the directory itself.
Result<std::optional<Directory>> open_beneath(int directory, std::string_view relative, const Place&);

// The fallback of open_beneath() if the kernel has no openat2() (before 5.6, and behind some seccomp filters): opens
// each part separately, with the same guarantee.
Result<std::optional<Directory>> open_beneath_in_steps(int directory, std::string_view relative, const Place&);

// nullopt: no file of that name. Only for plain names that this program knows.
Result<std::optional<Fd>> open_file(int directory, const char* name, int flags, const Place&);
bool has_file(int directory, const char* name);

// Reads the whole file from offset 0. nullopt: its owner is gone (ENODEV, ESRCH). A file that does not fit is an error,
// not a shorter text.
Result<std::optional<std::string_view>> read_text(int fd, Buffer&, const Place&);
// The same, except that of a file that does not fit the beginning is taken, up to the last whole line.
Result<std::optional<std::string_view>> read_beginning(int fd, Buffer&, const Place&);

// By an absolute path, for files that are read seldom (the list of mounts). nullopt: no such file.
Result<std::optional<std::string_view>> read_path(const std::string& path, Buffer&);

// A folder of the kernel's that is always there (/proc, /sys/devices/system/node), held open with its path for
// messages.
class Folder {
 public:
  static Result<Folder> open(std::string path);

  int fd() const { return directory_.fd.get(); }
  const std::string& path() const { return path_; }
  // `name` may lead down ("pressure/cpu"). nullopt: no such file, or its owner is gone.
  Result<std::optional<std::string_view>> read(const char* name, Buffer&) const;
  // Of a long file of which only the beginning is wanted.
  Result<std::optional<std::string_view>> read_beginning(const char* name, Buffer&) const;

 private:
  Folder(std::string path, Directory directory) : path_(std::move(path)), directory_(std::move(directory)) {}
  std::string path_;
  Directory directory_;
};

// The names of the folders in a directory, sorted; `names` is cleared first. False: the directory is gone.
Result<bool> list_folders(int directory, std::vector<std::string>& names, const Place&);

}  // namespace tidemark::linux
