#include "gateway/file_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "journal/whole_file.h"

namespace tidemark::gateway {
namespace {

using base::cat;
namespace fs = std::filesystem;

constexpr base::Duration kHdfsLimit = std::chrono::minutes(2);
constexpr std::size_t kFolderQueueMax = 256;
constexpr mode_t kReadable = 0644;  // users of jobs read them

std::unexpected<Error> failed(std::string_view doing, const std::string& path, int error) {
  return fail(error == ENOENT ? ErrorKind::kNotFound : ErrorKind::kUnavailable, doing, " ", path, ": ",
              std::strerror(error));
}

std::int64_t modified_ms(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
}

Result<void> append_file(const std::string& path, std::string_view bytes) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return failed("append to", path, errno);
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return failed("append to", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

// Its calls run on a thread of its own: a folder of the network may not answer for a long time.
class FolderStore final : public FileStore {
 public:
  FolderStore(net::EventLoop& loop, std::string root)
      : loop_(loop), root_(std::move(root)), worker_(1, kFolderQueueMax, net::WorkerPool::AtEnd::kAbandon) {}

  std::string url(std::string_view path) const override { return cat("local://", root_, "/", path); }
  std::string folder() const override { return root_; }

  net::Task<Result<void>> put(std::string path, std::string bytes) override {
    return run<void>([full = full_path(path), bytes = std::move(bytes)]() -> Result<void> {
      std::error_code error;
      fs::create_directories(fs::path(full).parent_path(), error);
      if (error) return failed("make the folder of", full, error.value());
      TM_TRY(const Fd fd, journal::write_whole(full, bytes, {.mode = kReadable}));
      return {};
    });
  }
  net::Task<Result<void>> append(std::string path, std::string bytes) override {
    return run<void>([full = full_path(path), bytes = std::move(bytes)] { return append_file(full, bytes); });
  }
  net::Task<Result<std::string>> read(std::string path, std::int64_t bytes_max) override {
    return run<std::string>([full = full_path(path), bytes_max]() -> Result<std::string> {
      TM_TRY(auto bytes, journal::read_whole(full, static_cast<std::size_t>(bytes_max)));
      if (!bytes) return failed("read", full, ENOENT);
      return *std::move(bytes);
    });
  }
  net::Task<Result<StoredFile>> status(std::string path) override {
    return run<StoredFile>([full = full_path(path)]() -> Result<StoredFile> {
      struct stat status{};
      if (stat(full.c_str(), &status) != 0) return failed("read", full, errno);
      return StoredFile{"", S_ISDIR(status.st_mode), status.st_size, modified_ms(status)};
    });
  }
  net::Task<Result<std::vector<StoredFile>>> list(std::string folder) override {
    return run<std::vector<StoredFile>>([full = full_path(folder)]() -> Result<std::vector<StoredFile>> {
      std::vector<StoredFile> out;
      std::error_code error;
      for (fs::directory_iterator at(full, error), end; !error && at != end; at.increment(error)) {
        struct stat status{};
        if (stat(at->path().c_str(), &status) != 0) continue;
        out.push_back({at->path().filename().string(), S_ISDIR(status.st_mode), status.st_size, modified_ms(status)});
      }
      if (error && error.value() != ENOENT) return failed("list", full, error.value());
      return out;
    });
  }
  net::Task<Result<void>> rename(std::string from, std::string to) override {
    return run<void>([from = full_path(from), to = full_path(to)]() -> Result<void> {
      if (::rename(from.c_str(), to.c_str()) != 0) return failed("rename", from, errno);
      return {};
    });
  }
  net::Task<Result<void>> remove(std::string path) override {
    return run<void>([full = full_path(path)]() -> Result<void> {
      std::error_code error;
      fs::remove_all(full, error);
      if (error) return failed("remove", full, error.value());
      return {};
    });
  }
  net::Task<Result<void>> touch(std::string path) override {
    return run<void>([full = full_path(path)]() -> Result<void> {
      if (utimensat(AT_FDCWD, full.c_str(), nullptr, 0) != 0) return failed("touch", full, errno);
      return {};
    });
  }

 private:
  std::string full_path(std::string_view path) const { return cat(root_, "/", path); }

  template <class T>
  net::Task<Result<T>> run(std::function<Result<T>()> work) {
    auto done = co_await worker_.run<Result<T>>(loop_, std::move(work));
    if (!done) co_return fail(std::move(done).error());
    co_return *std::move(done);
  }

  net::EventLoop& loop_;
  const std::string root_;
  net::WorkerPool worker_;
};

class HdfsStore final : public FileStore {
 public:
  HdfsStore(const net::EventLoop& loop, hadoop::WebHdfs hdfs, std::string file_system, std::string root)
      : loop_(loop), hdfs_(std::move(hdfs)), file_system_(std::move(file_system)), root_(std::move(root)) {}

  std::string url(std::string_view path) const override { return cat(file_system_, root_, "/", path); }
  std::string folder() const override { return ""; }

  net::Task<Result<void>> put(std::string path, std::string bytes) override {
    return hdfs_.create(full_path(path), std::move(bytes), kHdfsLimit);
  }
  net::Task<Result<void>> append(std::string path, std::string bytes) override {
    return hdfs_.append(full_path(path), std::move(bytes), kHdfsLimit);
  }
  net::Task<Result<std::string>> read(std::string path, std::int64_t bytes_max) override {
    TM_CO_TRY(const auto file, co_await hdfs_.status(full_path(path), kHdfsLimit));
    if (file.bytes > bytes_max) co_return fail(ErrorKind::kInvalid, path, " has more than ", bytes_max, " bytes");
    if (file.bytes == 0) co_return std::string();
    co_return co_await hdfs_.read(full_path(path), 0, file.bytes, kHdfsLimit);
  }
  net::Task<Result<StoredFile>> status(std::string path) override {
    TM_CO_TRY(const auto file, co_await hdfs_.status(full_path(path), kHdfsLimit));
    co_return StoredFile{"", file.folder, file.bytes, file.modified_ms};
  }
  net::Task<Result<std::vector<StoredFile>>> list(std::string folder) override {
    std::vector<StoredFile> out;
    const auto files = co_await hdfs_.list(full_path(folder), kHdfsLimit);
    if (!files && files.error().kind == ErrorKind::kNotFound) co_return out;
    if (!files) co_return fail(files.error());
    for (const auto& file : *files) out.push_back({file.name, file.folder, file.bytes, file.modified_ms});
    co_return out;
  }
  net::Task<Result<void>> rename(std::string from, std::string to) override {
    TM_CO_TRY(bool done, co_await hdfs_.rename(full_path(from), full_path(to), kHdfsLimit));
    if (done) co_return Result<void>();
    TM_CO_TRY_VOID(co_await hdfs_.remove(full_path(to), kHdfsLimit));
    TM_CO_TRY(done, co_await hdfs_.rename(full_path(from), full_path(to), kHdfsLimit));
    if (!done) co_return fail(ErrorKind::kUnavailable, "rename ", from, ": HDFS refused");
    co_return Result<void>();
  }
  net::Task<Result<void>> remove(std::string path) override { return hdfs_.remove(full_path(path), kHdfsLimit); }
  net::Task<Result<void>> touch(std::string path) override {
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(loop_.clock().wall().since_epoch);
    return hdfs_.touch(full_path(path), now.count(), kHdfsLimit);
  }

 private:
  std::string full_path(std::string_view path) const { return cat(root_, "/", path); }

  const net::EventLoop& loop_;
  hadoop::WebHdfs hdfs_;
  const std::string file_system_;  // hdfs://nn:8020
  const std::string root_;
};

}  // namespace

Result<std::unique_ptr<FileStore>> open_file_store(net::EventLoop& loop, const hadoop::HdfsAccess& access,
                                                   std::string root) {
  while (root.size() > 1 && root.ends_with('/')) root.pop_back();
  if (root.starts_with('/')) return std::make_unique<FolderStore>(loop, root);
  TM_TRY(auto hdfs, hadoop::open_hdfs(loop, access, root));
  return std::make_unique<HdfsStore>(loop, std::move(hdfs.files), hdfs.file_system, hdfs.path);
}

}  // namespace tidemark::gateway
