// Files of jobs that clients send: each is kept under the digest of its content, so that the same file is sent once and
// the same job stays the same.
//
//   ROOT/SHA256/NAME
//
// A client sends a file in pieces. A file that no submission named for `keep` is removed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "gateway/file_store.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/seal.h"

namespace tidemark::gateway {

// kInvalid: it is no name of a file.
Result<void> check_upload_name(std::string_view name);

class Uploads {
 public:
  // null: nothing can be uploaded, and refusals say so.
  Uploads(net::EventLoop& loop, base::Log log, std::unique_ptr<FileStore> files, base::Duration keep);

  void start();  // removes old files until destroyed
  std::string folder() const { return files_ ? files_->folder() : ""; }

  // The URL of a whole file.
  net::Task<Result<std::string>> keep(std::string name, std::string bytes);

  // GET and PUT /tidemark/v1/files/SHA256/NAME?bytes=SIZE: {"have": BYTES, "url": URL once it is whole}. PUT carries
  // the piece from ?from=BYTE on, which must be the number of bytes that are there.
  static bool serves(std::string_view path);
  net::Task<void> handle(net::HttpExchange& exchange);

 private:
  struct Sending {
    net::Sha256 digest;
    std::int64_t have = 0;
    base::MonotonicTime last;
    std::string part;   // its file until it is whole
    bool busy = false;  // a piece is being written
  };
  net::Task<Result<std::string>> find(const std::string& path, std::int64_t bytes);  // "": it is not there
  net::Task<Result<std::string>> add_piece(std::string path, std::int64_t bytes, std::int64_t from, std::string piece);
  std::string new_part(std::string_view path) const;
  net::Task<Result<std::string>> add_to(Sending& sending, const std::string& path, std::int64_t bytes,
                                        std::string piece);
  net::Task<Result<void>> remove_old();
  net::Task<void> remove_old_forever();

  net::EventLoop& loop_;
  base::Log log_;
  std::unique_ptr<FileStore> files_;
  const base::Duration keep_;
  std::map<std::string, Sending> sending_;  // by path
  net::Scope scope_;
};

}  // namespace tidemark::gateway
