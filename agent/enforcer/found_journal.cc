#include "agent/enforcer/found_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "journal/append.h"
#include "journal/whole_file.h"

namespace tidemark::agent {
namespace {

constexpr std::string_view kJournalName = "found.journal";
constexpr std::string_view kLockName = "found.lock";
// The journal is rewritten with only the valid entries when it has grown to four times their size.
constexpr std::int64_t kRewriteBytesMin = std::int64_t{256} << 10;
constexpr std::int64_t kRewriteFactor = 4;
constexpr std::size_t kJournalBytesMax = std::size_t{256} << 20;

std::string journal_path(const std::string& folder) {
  return base::cat(folder, "/", kJournalName);
}

std::optional<linux::File> file_named(std::string_view name) {
  for (std::size_t index = 0; index < linux::kFiles; ++index) {
    const auto file = static_cast<linux::File>(index);
    if (found_name(file) == name) return file;
  }
  return std::nullopt;
}

std::string first_line(std::string_view boot_id) {
  std::string out;
  base::JsonWriter(out).begin_object().member("schema", kFoundSchema).member("boot", boot_id).end_object();
  return out + "\n";
}

std::string found_line(std::uint32_t id, const FoundFile& file) {
  std::string out;
  base::JsonWriter(out)
      .begin_object()
      .member("id", std::int64_t{id})
      .member("group", file.group)
      .member("file", found_name(file.file))
      .member("device", static_cast<std::int64_t>(file.identity.device))
      .member("inode", static_cast<std::int64_t>(file.identity.inode))
      .member("strategy", model::to_string(file.strategy))
      .member("found", file.found)
      .end_object();
  return out + "\n";
}

std::string value_line(std::uint32_t id, std::string_view key, std::string_view value) {
  std::string out;
  base::JsonWriter(out).begin_object().member("id", std::int64_t{id}).member(key, value).end_object();
  return out + "\n";
}

std::string over_line(std::uint32_t id) {
  std::string out;
  base::JsonWriter(out).begin_object().member("id", std::int64_t{id}).member("over", true).end_object();
  return out + "\n";
}

void remember(FoundFile& file, std::string value) {
  std::erase(file.written, value);
  file.written.push_back(std::move(value));
  if (file.written.size() > kFoundValuesKept) file.written.erase(file.written.begin());
}

std::optional<FoundFile> found_in(const Json& line) {
  const auto file = file_named(line.text_at("file"));
  const auto strategy = model::parse_strategy(line.text_at("strategy"));
  const Json* device = line.member("device");
  const Json* inode = line.member("inode");
  const Json* group = line.member("group");
  const Json* found = line.member("found");
  if (!file || !strategy || device == nullptr || !device->is_int() || inode == nullptr || !inode->is_int()) return {};
  if (group == nullptr || !group->is_string() || found == nullptr || !found->is_string()) return {};
  return FoundFile{group->as_string(),
                   *file,
                   {static_cast<std::uint64_t>(device->as_int()), static_cast<std::uint64_t>(inode->as_int())},
                   *strategy,
                   found->as_string(),
                   {}};
}

// Adds the content of the line to `reading`. False: the line is invalid.
bool take_line(const Json& line, FoundReading& reading) {
  const Json* id_member = line.member("id");
  if (id_member == nullptr || !id_member->is_int()) return false;
  const std::int64_t said = id_member->as_int();
  if (said < 1 || said > std::int64_t{UINT32_MAX}) return false;
  const auto id = static_cast<std::uint32_t>(said);
  if (line.member("group") != nullptr) {
    auto file = found_in(line);
    if (!file || reading.files.size() >= kFoundFilesMax) return false;
    reading.files[id] = std::move(*file);
    reading.last_id = std::max(reading.last_id, id);
    return true;
  }
  const auto at = reading.files.find(id);
  if (at == reading.files.end()) return false;
  if (line.member("over") != nullptr) {
    reading.files.erase(at);
    return true;
  }
  if (const Json* writes = line.member("writes"); writes != nullptr && writes->is_string()) {
    remember(at->second, writes->as_string());
    return true;
  }
  if (const Json* found = line.member("found"); found != nullptr && found->is_string()) {
    at->second.found = found->as_string();
    return true;
  }
  return false;
}

}  // namespace

std::string_view found_name(linux::File file) {
  const linux::FileNames& names = linux::names_of(file);
  return names.v1 != nullptr ? names.v1 : names.v2;
}

std::string boot_id(const std::string& proc_root) {
  constexpr std::size_t kBootIdBytes = 256;
  linux::Buffer buffer(kBootIdBytes);
  const auto text = linux::read_path(proc_root + "/sys/kernel/random/boot_id", buffer);
  return text && *text ? std::string(base::trim(**text)) : std::string();
}

Result<void> needs_boot_id(std::string_view boot_id) {
  if (!boot_id.empty()) return {};
  return fail(ErrorKind::kUnavailable,
              "sys/kernel/random/boot_id in --proc-root cannot be read: unknown whether the journal's values are "
              "from this boot of the machine");
}

Result<FoundReading> parse_found(std::string_view text, std::string_view boot_id) {
  FoundReading reading;
  bool first = true;
  while (true) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {  // an unfinished last line
      reading.whole = !first && text.empty();
      return reading;
    }
    const auto line = Json::parse(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (first) {
      first = false;
      const Json* schema = line ? line->member("schema") : nullptr;
      if (schema == nullptr || !schema->is_int()) return fail(ErrorKind::kInvalid, "line 1: schema is not set");
      if (schema->as_int() > kFoundSchema) {
        return fail(ErrorKind::kUnsupported, "schema ", schema->as_int(), " is of a newer version than this program");
      }
      if (line->text_at("boot") != boot_id) return reading;  // the machine rebooted since: the values are gone
      continue;
    }
    ++reading.lines;
    if (!line || !take_line(*line, reading)) ++reading.unreadable;
  }
}

Result<FoundReading> read_found(const std::string& folder, std::string_view boot_id) {
  TM_TRY_VOID(needs_boot_id(boot_id));
  const std::string path = journal_path(folder);
  TM_TRY(const auto text, journal::read_whole(path, kJournalBytesMax));
  auto reading = parse_found(text ? *text : std::string_view(), boot_id);
  if (!reading) return fail(std::move(reading).error().within(path));
  return reading;
}

Result<FoundLock> FoundLock::take(const std::string& folder) {
  TM_TRY_VOID(journal::make_folder(folder));
  const std::string path = base::cat(folder, "/", kLockName);
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return base::fail_errno(errno, base::cat("open ", path));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return FoundLock(std::move(fd));
  if (errno != EWOULDBLOCK) return base::fail_errno(errno, base::cat("lock ", path));
  return fail(ErrorKind::kAlreadyExists, "another process has the journal in ", folder, ": an agent runs here");
}

Result<FoundJournal> FoundJournal::open(const std::string& folder, std::string boot_id) {
  TM_TRY(auto lock, FoundLock::take(folder));
  return open(lock, folder, std::move(boot_id));
}

Result<FoundJournal> FoundJournal::open(FoundLock& lock, const std::string& folder, std::string boot_id) {
  FoundJournal journal(folder, std::move(boot_id));
  TM_TRY(journal.reading_, read_found(folder, journal.boot_id_));
  auto made = journal.rewrite();
  // If the folder has no space for a new file, the existing file may still take some lines.
  if (!made && journal.reading_.whole) made = journal.go_on();
  if (!made) return fail(std::move(made).error());
  journal.lock_ = std::move(lock.fd_);
  return journal;
}

bool FoundJournal::is_held(const std::string& folder) {
  const Fd lock(::open(base::cat(folder, "/", kLockName).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

Result<void> FoundJournal::append(std::string_view lines) {
  TM_TRY_VOID(journal::append_whole(file_.get(), lines, bytes_, journal_path(folder_)));
  bytes_ += static_cast<std::int64_t>(lines.size());
  return {};
}

Result<void> FoundJournal::rewrite() {
  std::string text = first_line(boot_id_);
  for (const auto& [id, file] : reading_.files) {
    text += found_line(id, file);
    for (const std::string& value : file.written) text += value_line(id, "writes", value);
  }
  TM_TRY(file_, journal::write_whole(journal_path(folder_), text));
  bytes_ = static_cast<std::int64_t>(text.size());
  rewrite_at_ = std::max(kRewriteBytesMin, bytes_ * kRewriteFactor);
  return {};
}

Result<void> FoundJournal::go_on() {
  const std::string path = journal_path(folder_);
  file_ = Fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  struct stat seen{};
  if (!file_ || ::fstat(file_.get(), &seen) != 0) return base::fail_errno(errno, base::cat("open ", path));
  bytes_ = seen.st_size;
  rewrite_at_ = bytes_ + kRewriteBytesMin;
  return {};
}

Result<std::uint32_t> FoundJournal::add(FoundFile file) {
  if (reading_.files.size() >= kFoundFilesMax) {
    return fail(ErrorKind::kExhausted, "the journal already has ", kFoundFilesMax, " files: no more files are written");
  }
  const std::uint32_t id = reading_.last_id + 1;
  TM_TRY_VOID(append(found_line(id, file)));
  reading_.last_id = id;
  reading_.files.emplace(id, std::move(file));
  return id;
}

Result<void> FoundJournal::will_write(const std::vector<Coming>& values) {
  if (values.empty()) return {};
  std::string lines;
  for (const Coming& each : values) lines += value_line(each.id, "writes", each.value);
  TM_TRY_VOID(append(lines));
  for (const Coming& each : values) {
    if (const auto at = reading_.files.find(each.id); at != reading_.files.end()) remember(at->second, each.value);
  }
  // The append succeeded. A rewrite that fails is tried again after the same growth.
  if (bytes_ > rewrite_at_ && !rewrite()) rewrite_at_ = bytes_ + kRewriteBytesMin;
  return {};
}

Result<void> FoundJournal::over(const std::vector<std::uint32_t>& ids) {
  if (ids.empty()) return {};
  std::string lines;
  for (const std::uint32_t id : ids) lines += over_line(id);
  TM_TRY_VOID(append(lines));
  for (const std::uint32_t id : ids) reading_.files.erase(id);
  return {};
}

Result<void> FoundJournal::found_now(std::uint32_t id, std::string value) {
  TM_TRY_VOID(append(value_line(id, "found", value)));
  if (const auto at = reading_.files.find(id); at != reading_.files.end()) at->second.found = std::move(value);
  return {};
}

}  // namespace tidemark::agent
