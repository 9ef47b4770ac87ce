// A file that is there whole or not at all: written beside its place, and renamed to it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace tidemark::journal {

struct WholeFile {
  mode_t mode = 0600;  // of the file, whatever the umask
  bool sync = false;   // it and its name stand on the disk when it answers well
};

// Answers the file, open to append to it. Otherwise what was at `path` before is there still, except that a folder
// which cannot be synced leaves the new one. Beside it is `.NAME.new` in the same folder; for one writer at a time.
Result<Fd> write_whole(const std::string& path, std::string_view bytes, WholeFile how = {});

// Room on the disk for so many bytes of what write_whole() puts at `path` later: a disk that is full by then takes them
// all the same. A filesystem that keeps no room for anybody keeps none, which is no error.
Result<void> reserve_whole(const std::string& path, std::size_t bytes);
// The same for a file that is written where it lies, and made where there is none.
Result<void> reserve(const std::string& path, std::size_t bytes);

// nullopt: there is none. kInvalid: it has more than `bytes_max`. A link is not followed, and nothing is waited for.
Result<std::optional<std::string>> read_whole(const std::string& path, std::size_t bytes_max);

// False: there was none.
Result<bool> remove_whole(const std::string& path, bool sync = false);

// With all that lead to it.
Result<void> make_folder(const std::string& path);

}  // namespace tidemark::journal
