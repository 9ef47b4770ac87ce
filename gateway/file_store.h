// A place for files of the gateway that machines of both sides can read: a folder (shared, such as NFS) or HDFS.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hadoop/web_hdfs.h"
#include "net/loop.h"

namespace tidemark::gateway {

struct StoredFile {
  std::string name;
  bool folder = false;
  std::int64_t bytes = 0;
  std::int64_t modified_ms = 0;  // since 1970
};

// Where the logs of ended drivers and executors go.
class LogArchive {
 public:
  virtual ~LogArchive() = default;
  // Replaces a file, with the folders that lead to it.
  virtual net::Task<Result<void>> put(std::string path, std::string bytes) = 0;
  // kNotFound if it does not exist; kInvalid if it has more bytes.
  virtual net::Task<Result<std::string>> read(std::string path, std::int64_t bytes_max) = 0;
};

class FileStore : public LogArchive {
 public:
  // Of a path below the root, as a job names it: hdfs://nn:8020/root/path, or local:///root/path.
  virtual std::string url(std::string_view path) const = 0;
  virtual std::string folder() const = 0;  // the root if it is a folder; "": it is in HDFS

  virtual net::Task<Result<void>> append(std::string path, std::string bytes) = 0;
  virtual net::Task<Result<StoredFile>> status(std::string path) = 0;               // kNotFound
  virtual net::Task<Result<std::vector<StoredFile>>> list(std::string folder) = 0;  // empty if it does not exist
  virtual net::Task<Result<void>> rename(std::string from, std::string to) = 0;     // replaces `to`
  virtual net::Task<Result<void>> remove(std::string path) = 0;                     // with all below it
  virtual net::Task<Result<void>> touch(std::string path) = 0;
};

// `root`: hdfs://nn:8020/path, hdfs:///path (of fs.defaultFS), or the absolute path of a folder.
Result<std::unique_ptr<FileStore>> open_file_store(net::EventLoop& loop, const hadoop::HdfsAccess& access,
                                                   std::string root);

}  // namespace tidemark::gateway
