#include "embedded/credentials.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "journal/whole_file.h"
#include "kube/config.h"
#include "net/address.h"

namespace tidemark::embedded {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kFileBytesMax = 64 * 1024;
constexpr base::Duration kAuthorityLifetime = std::chrono::hours(24 * 3650);
// A machine may begin with its clock ahead, and set it back: by hours where its hardware clock has the local time. What
// was issued before must be valid then too.
constexpr base::Duration kClockSetBack = std::chrono::hours(24 * 365);

// With all that lead to it; only the last is the owner's alone.
Result<void> make_folder(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string above = path.substr(0, at);
    if (::mkdir(above.c_str(), 0755) != 0 && errno != EEXIST)
      return base::fail_errno(errno, base::cat("making ", above));
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return base::fail_errno(errno, base::cat("making ", path));
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return base::fail_errno(errno, base::cat("looking at ", path));
  if (!S_ISDIR(info.st_mode)) return fail(ErrorKind::kInvalid, path, " is not a folder");
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return fail(ErrorKind::kDenied, path, " belongs to user ", info.st_uid, ", who could then act as this server");
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(ErrorKind::kDenied, path, " can be written by others, who could then act as this server: chmod go-w ",
                path);
  }
  return {};
}

Result<std::optional<std::string>> read_if_there(const std::string& path) {
  auto text = kube::system_files().read(path, kFileBytesMax);
  if (text) return std::optional<std::string>(std::move(*text));
  if (text.error().kind == ErrorKind::kNotFound) return std::optional<std::string>();
  return std::unexpected(std::move(text).error());
}

Result<void> write_file(const std::string& path, std::string_view text, mode_t mode) {
  TM_TRY_VOID(journal::write_whole(path, text, {.mode = mode, .sync = true}));
  return {};
}

Result<net::CertificateAuthority> open_authority(const std::string& data_dir, base::WallTime now) {
  const std::string certificate_path = data_dir + "/ca.crt";
  const std::string key_path = data_dir + "/ca.key";
  TM_TRY(const auto certificate, read_if_there(certificate_path));
  TM_TRY(const auto key, read_if_there(key_path));
  if (certificate && key) return net::CertificateAuthority{*certificate, *key};
  TM_TRY(auto made, net::make_certificate_authority("tidemark embedded", now + -kClockSetBack,
                                                    kClockSetBack + kAuthorityLifetime));
  TM_TRY_VOID(write_file(key_path, made.key_pem, 0600));
  TM_TRY_VOID(write_file(certificate_path, made.certificate_pem, 0644));
  return made;
}

Result<std::string> open_token(const std::string& data_dir) {
  const std::string path = data_dir + "/admin.token";
  TM_TRY(const auto there, read_if_there(path));
  if (there && !base::trim(*there).empty()) return std::string(base::trim(*there));
  unsigned char bytes[kTokenBytes];
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) {
    return base::fail_errno(errno, "drawing a token");
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kDigits[byte >> 4];
    token += kDigits[byte & 15];
  }
  TM_TRY_VOID(write_file(path, token + "\n", 0600));
  return token;
}

}  // namespace

Result<Credentials> open_credentials(const std::string& data_dir, std::string_view listen, base::WallTime now) {
  TM_TRY_VOID(make_folder(data_dir));
  Credentials credentials;
  TM_TRY(credentials.authority, open_authority(data_dir, now));
  net::CertificateRequest request;
  request.common_name = "tidemark-apiserver";
  request.dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"};
  request.ip_addresses = {"127.0.0.1", "::1"};
  request.lifetime = kClockSetBack + kAuthorityLifetime;  // the process may run for years
  std::string_view host = listen.substr(0, listen.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) host = "::";
  if (net::ip_address(host, 0) && host != "127.0.0.1" && host != "::1") request.ip_addresses.emplace_back(host);
  TM_TRY(credentials.server, net::issue_certificate(credentials.authority, request, now + -kClockSetBack));
  TM_TRY(credentials.token, open_token(data_dir));
  return credentials;
}

Result<std::string> write_kubeconfig(const std::string& data_dir, const Credentials& credentials,
                                     const std::string& server_address) {
  const std::string path = data_dir + "/kubeconfig";
  // JSON is YAML: kubectl reads it as it is.
  Json config = Json::object({{"apiVersion", "v1"}, {"kind", "Config"}, {"current-context", "tidemark"}});
  config["clusters"] = Json::array({Json::object(
      {{"name", "tidemark"},
       {"cluster", Json::object({{"server", Json("https://" + server_address)},
                                 {"certificate-authority-data",
                                  Json(base::base64_encode(credentials.authority.certificate_pem))}})}})});
  config["users"] =
      Json::array({Json::object({{"name", "admin"}, {"user", Json::object({{"token", Json(credentials.token)}})}})});
  config["contexts"] = Json::array(
      {Json::object({{"name", "tidemark"}, {"context", Json::object({{"cluster", "tidemark"}, {"user", "admin"}})}})});
  // One that is right already is left: a server must come up again on a disk that is full.
  const std::string text = config.dump_pretty() + "\n";
  struct stat info{};
  const bool private_already =
      ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 07777) == 0600;
  TM_TRY(const auto there, read_if_there(path));
  if (private_already && there == text) return path;
  TM_TRY_VOID(write_file(path, text, 0600));
  return path;
}

}  // namespace tidemark::embedded
