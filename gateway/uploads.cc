#include "gateway/uploads.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "gateway/door.h"

namespace tidemark::gateway {
namespace {

using base::cat;

constexpr std::string_view kFilesPath = "/tidemark/v1/files/";
constexpr std::size_t kUploadPieceMax = 8 * 1024 * 1024;
constexpr std::size_t kUploadNameMax = 200;
constexpr std::size_t kDigestLength = 64;
constexpr std::size_t kSendingMax = 64;  // files that come at the same time
constexpr base::Duration kSendingIdleMax = std::chrono::minutes(10);
constexpr base::Duration kRemoveEvery = std::chrono::hours(1);
constexpr std::int64_t kFileBytesMax = std::int64_t{8} << 30;

bool is_digest(std::string_view text) {
  return text.size() == kDigestLength && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void refuse_file(net::HttpExchange& exchange, const Error& error) {
  const Refusal refusal = refusal_of(error);
  respond(exchange, refusal.status, Json::object({{"msg", refusal.message}}));
}

}  // namespace

Result<void> check_upload_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-' || c == '+';
  };
  if (name.empty() || name.size() > kUploadNameMax || name.starts_with('.') || !std::ranges::all_of(name, fits)) {
    return fail(ErrorKind::kInvalid, base::in_quotes(name),
                ": a file that is uploaded needs a name of letters, digits and . _ - +");
  }
  return {};
}

Uploads::Uploads(net::EventLoop& loop, base::Log log, std::unique_ptr<FileStore> files, base::Duration keep)
    : loop_(loop), log_(std::move(log)), files_(std::move(files)), keep_(keep), scope_(loop) {}

void Uploads::start() {
  if (files_) scope_.spawn(remove_old_forever());
}

net::Task<Result<std::string>> Uploads::find(const std::string& path, std::int64_t bytes) {
  const auto file = co_await files_->status(path);
  if (!file && file.error().kind != ErrorKind::kNotFound) co_return fail(file.error());
  if (!file || file->bytes != bytes) co_return std::string();
  TM_CO_TRY_VOID(co_await files_->touch(path.substr(0, path.find('/'))));
  co_return files_->url(path);
}

// A write that was given up may still happen, so each begin has a file of its own.
std::string Uploads::new_part(std::string_view path) const {
  return cat(path, ".", loop_.clock().monotonic().since_start.count(), ".part");
}

net::Task<Result<std::string>> Uploads::keep(std::string name, std::string bytes) {
  if (!files_) co_return fail(ErrorKind::kUnsupported, "files cannot be uploaded: --uploads is not set");
  TM_CO_TRY_VOID(check_upload_name(name));
  const std::string path = cat(net::Sha256().add(bytes).hex(), "/", name);
  TM_CO_TRY(std::string url, co_await find(path, static_cast<std::int64_t>(bytes.size())));
  if (!url.empty()) co_return url;
  const std::string part = new_part(path);
  TM_CO_TRY_VOID(co_await files_->put(part, std::move(bytes)));
  TM_CO_TRY_VOID(co_await files_->rename(part, path));
  co_return files_->url(path);
}

net::Task<Result<std::string>> Uploads::add_to(Sending& sending, const std::string& path, std::int64_t bytes,
                                               std::string piece) {
  sending.digest.add(piece);
  const auto size = static_cast<std::int64_t>(piece.size());
  if (sending.have == 0) {
    TM_CO_TRY_VOID(co_await files_->put(sending.part, std::move(piece)));
  } else {
    TM_CO_TRY_VOID(co_await files_->append(sending.part, std::move(piece)));
  }
  sending.have += size;
  if (sending.have < bytes) co_return std::string();
  if (!path.starts_with(sending.digest.hex())) {
    (void)co_await files_->remove(sending.part);
    co_return fail(ErrorKind::kInvalid, path, ": the content has another SHA-256; send the file again");
  }
  TM_CO_TRY_VOID(co_await files_->rename(sending.part, path));
  co_return files_->url(path);
}

net::Task<Result<std::string>> Uploads::add_piece(std::string path, std::int64_t bytes, std::int64_t from,
                                                  std::string piece) {
  const base::MonotonicTime now = loop_.clock().monotonic();
  std::erase_if(sending_,
                [&](const auto& each) { return !each.second.busy && now - each.second.last > kSendingIdleMax; });
  if (from == 0 && !sending_.contains(path)) {
    if (sending_.size() >= kSendingMax) co_return fail(ErrorKind::kExhausted, "too many files come at the same time");
    sending_[path] = Sending{.digest = {}, .have = 0, .last = now, .part = new_part(path)};
  }
  const auto at = sending_.find(path);
  if (at == sending_.end()) co_return fail(ErrorKind::kConflict, path, ": the gateway has no begin; send from byte 0");
  Sending& sending = at->second;
  if (sending.busy) co_return fail(ErrorKind::kConflict, path, ": another client sends this file now");
  if (from == 0 && sending.have > 0) sending = Sending{.digest = {}, .have = 0, .last = now, .part = new_part(path)};
  const bool fits = from == sending.have && sending.have + static_cast<std::int64_t>(piece.size()) <= bytes;
  if (!fits) co_return fail(ErrorKind::kConflict, path, ": the gateway has ", sending.have, " bytes; send from there");
  sending.busy = true;
  sending.last = now;
  // A client that goes away destroys this call: what its piece has become is unknown, so the file begins again.
  struct Given {
    Uploads& uploads;
    const std::string& path;
    bool kept = false;
    ~Given() {
      if (!kept) uploads.sending_.erase(path);
    }
  } given{*this, path};
  auto url = co_await add_to(sending, path, bytes, std::move(piece));
  sending.busy = false;
  given.kept = url && url->empty();
  co_return url;
}

bool Uploads::serves(std::string_view path) {
  return path.starts_with(kFilesPath);
}

net::Task<void> Uploads::handle(net::HttpExchange& exchange) {
  auto body = co_await exchange.body(kUploadPieceMax);
  const auto target = net::parse_target(exchange.head().target);
  const std::string path = target ? target->path.substr(kFilesPath.size()) : "";
  const auto slash = path.find('/');
  const auto bytes = base::parse_int(target ? target->get("bytes") : "");
  const std::string& method = exchange.head().method;
  if (!body) {
    respond(exchange, body.error().kind == ErrorKind::kExhausted ? 413 : 408,
            Json::object({{"msg", body.error().message}}));
    co_return;
  }
  if (slash == std::string::npos || !is_digest(std::string_view(path).substr(0, slash)) || !bytes || *bytes < 1 ||
      *bytes > kFileBytesMax || (method != "GET" && method != "PUT")) {
    refuse_file(exchange, Error{ErrorKind::kInvalid, "use PUT or GET /tidemark/v1/files/SHA256/NAME?bytes=SIZE"});
    co_return;
  }
  if (const auto named = check_upload_name(std::string_view(path).substr(slash + 1)); !named) {
    refuse_file(exchange, named.error());
    co_return;
  }
  if (!files_) {
    refuse_file(exchange, Error{ErrorKind::kUnsupported, "files cannot be uploaded: --uploads is not set"});
    co_return;
  }
  auto url = co_await find(path, *bytes);
  if (url && url->empty() && method == "PUT") {
    url = co_await add_piece(path, *bytes, base::parse_int(target->get("from")).value_or(0), *std::move(body));
  }
  if (!url) {
    refuse_file(exchange, url.error());
    co_return;
  }
  const auto at = sending_.find(path);
  Json answer = Json::object({{"have", !url->empty() ? *bytes : at == sending_.end() ? 0 : at->second.have}});
  if (!url->empty()) answer["url"] = Json(*url);
  respond(exchange, 200, answer);
}

net::Task<Result<void>> Uploads::remove_old() {
  TM_CO_TRY(const auto folders, co_await files_->list(""));
  const auto oldest =
      std::chrono::duration_cast<std::chrono::milliseconds>((loop_.clock().wall() + (-keep_)).since_epoch);
  for (const auto& folder : folders) {
    if (!is_digest(folder.name) || folder.modified_ms > oldest.count()) continue;
    TM_CO_TRY_VOID(co_await files_->remove(folder.name));
    log_.info("removed an uploaded file that no job named for a long time", {{"digest", folder.name}});
  }
  co_return Result<void>();
}

net::Task<void> Uploads::remove_old_forever() {
  while (true) {
    const auto removed = co_await remove_old();
    if (!removed) log_.warn("cannot remove old uploaded files; retrying", {{"error", removed.error()}});
    co_await loop_.sleep(kRemoveEvery);
  }
}

}  // namespace tidemark::gateway
