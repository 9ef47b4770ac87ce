#include "agent/latch/latch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "journal/whole_file.h"

namespace tidemark::agent {
namespace {

constexpr std::int64_t kLatchSchema = 1;
constexpr std::size_t kLatchBytesMax = 8192;

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

std::string run_latch(const std::string& run_dir) {
  return run_dir + "/latch";
}

Latch parse_latch(std::string_view text) {
  Latch out;
  const auto json = Json::parse(text);
  if (!json) {
    out.trouble = json.error().message;
    return out;
  }
  const Json* schema = json->member("schema");
  if (schema == nullptr || schema->get_int() != kLatchSchema) out.trouble = "not of this version";
  out.by = json->text_at("by");
  out.why = json->text_at("why");
  out.since = base::parse_rfc3339(json->text_at("since"));
  return out;
}

std::optional<Latch> read_latch(const std::string& path) {
  const auto text = journal::read_whole(path, kLatchBytesMax);
  if (!text) {
    Latch unreadable;
    unreadable.trouble = text.error().message;
    return unreadable;
  }
  return *text ? std::optional(parse_latch(**text)) : std::nullopt;
}

Result<std::optional<Latch>> see_latch(const std::string& path, bool as_root) {
  auto latch = read_latch(path);
  if (!latch || latch->trouble.empty()) return latch;
  struct stat found{};
  if (::lstat(path.c_str(), &found) == 0) return latch;
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  if (errno == EACCES && !as_root) return base::fail_errno(errno, base::cat("look for ", path));
  return latch;
}

Result<void> set_latch(const std::string& path, const Latch& latch) {
  std::string text;
  base::JsonWriter json(text);
  json.begin_object().member("schema", kLatchSchema).member("by", latch.by).member("why", latch.why);
  if (latch.since) json.member("since", base::format_rfc3339(*latch.since));
  json.end_object();
  text += "\n";
  TM_TRY_VOID(journal::make_folder(folder_of(path)));
  TM_TRY_VOID(journal::write_whole(path, text, {.mode = 0644, .sync = true}));
  return {};
}

Result<void> set_empty_latch(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd || ::fsync(fd.get()) != 0) return base::fail_errno(errno, base::cat("make ", path));
  return {};
}

Result<bool> clear_latch(const std::string& path) {
  return journal::remove_whole(path, true);
}

}  // namespace tidemark::agent
