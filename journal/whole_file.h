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
  mode_t mode = 0600;  // of the file, independent of the umask
  bool sync = false;   // it and its name stand on the disk when it answers well
};

// Returns the file, open for appending. On failure the old content of `path` is still there, except if only the sync of
// the folder failed: then the new one is. Uses `.NAME.new` in the same folder; for one writer at a time.
Result<Fd> write_whole(const std::string& path, std::string_view bytes, WholeFile how = {});

// Reserves disk space for a later write_whole() of this size to `path`, so that it succeeds on a full disk. A
// filesystem that cannot reserve reserves nothing, which is no error.
Result<void> reserve_whole(const std::string& path, std::size_t bytes);
// The same for a file that is written in place, and created if missing.
Result<void> reserve(const std::string& path, std::size_t bytes);

// nullopt: it does not exist. kInvalid: it has more than `bytes_max`. Does not follow a link and does not block.
Result<std::optional<std::string>> read_whole(const std::string& path, std::size_t bytes_max);

// False: there was none.
Result<bool> remove_whole(const std::string& path, bool sync = false);

// With all that lead to it.
Result<void> make_folder(const std::string& path);

}  // namespace tidemark::journal
