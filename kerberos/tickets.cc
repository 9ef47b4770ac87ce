#include "kerberos/tickets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <krb5.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kerberos/errors.h"

namespace tidemark::kerberos {
namespace {

constexpr std::string_view kHostPlace = "_HOST";
constexpr std::size_t kPrincipalsShown = 5;
constexpr std::size_t kKeysMax = 10'000;  // most keys of a keytab that are read

struct KerberosContext {
  krb5_context is = nullptr;
  krb5_error_code made = krb5_init_context(&is);
  KerberosContext() = default;
  ~KerberosContext() {
    if (is != nullptr) krb5_free_context(is);
  }
  KerberosContext(const KerberosContext&) = delete;
  KerberosContext& operator=(const KerberosContext&) = delete;

  std::unexpected<Error> fail_with(krb5_error_code code, std::string_view doing) const {
    const char* said = krb5_get_error_message(is, code);
    Error error = error_of(code, base::cat(doing, ": ", said));
    krb5_free_error_message(is, said);
    return fail(std::move(error));
  }
  std::string text_of(krb5_const_principal principal) const {
    char* text = nullptr;
    if (krb5_unparse_name(is, principal, &text) != 0) return "?";
    std::string out(text);
    krb5_free_unparsed_name(is, text);
    return out;
  }
};

template <class T, void (*Free)(krb5_context, T)>
struct Held {
  const KerberosContext& context;
  T is = nullptr;
  explicit Held(const KerberosContext& c) : context(c) {}
  ~Held() {
    if (is != nullptr) Free(context.is, is);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
};
void close_keytab(krb5_context context, krb5_keytab keytab) {
  krb5_kt_close(context, keytab);
}
void close_cache(krb5_context context, krb5_ccache cache) {
  krb5_cc_close(context, cache);
}
using Principal = Held<krb5_principal, krb5_free_principal>;
using Keytab = Held<krb5_keytab, close_keytab>;
using Cache = Held<krb5_ccache, close_cache>;
using InitOptions = Held<krb5_get_init_creds_opt*, krb5_get_init_creds_opt_free>;

std::string small(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

std::string own_host() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "localhost";
  addrinfo hints{};
  hints.ai_flags = AI_CANONNAME;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(name, nullptr, &hints, &found) != 0) return small(name);
  std::string out = found->ai_canonname != nullptr ? found->ai_canonname : name;
  freeaddrinfo(found);
  return small(std::move(out));
}

// The principals in it, each once.
Result<std::vector<std::string>> principals_in(const KerberosContext& context, krb5_keytab keytab,
                                               const std::string& file) {
  krb5_kt_cursor cursor;
  if (const auto code = krb5_kt_start_seq_get(context.is, keytab, &cursor)) {
    return context.fail_with(code, base::cat("reading keytab ", file));
  }
  std::vector<std::string> out;
  krb5_keytab_entry entry;
  for (std::size_t i = 0; i < kKeysMax && krb5_kt_next_entry(context.is, keytab, &entry, &cursor) == 0; ++i) {
    std::string name = context.text_of(entry.principal);
    krb5_free_keytab_entry_contents(context.is, &entry);
    if (std::ranges::find(out, name) == out.end()) out.push_back(std::move(name));
  }
  krb5_kt_end_seq_get(context.is, keytab, &cursor);
  if (out.empty()) return fail(ErrorKind::kInvalid, "keytab ", file, " has no keys");
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kPrincipalsShown); ++i) {
    out += base::cat(i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > kPrincipalsShown) out += base::cat(" and ", names.size() - kPrincipalsShown, " more");
  return out;
}

Result<std::string> who(const KerberosContext& context, krb5_keytab keytab, const hadoop::KerberosOptions& options) {
  TM_TRY(const auto names, principals_in(context, keytab, options.keytab));
  if (options.principal.empty()) {
    if (names.size() == 1) return names.front();
    return fail(ErrorKind::kInvalid, "keytab ", options.keytab, " has keys of ", listed(names),
                ": --kerberos-principal is to say which of them calls");
  }
  Principal wanted(context);
  const std::string asked = with_own_host(options.principal);
  if (const auto code = krb5_parse_name(context.is, asked.c_str(), &wanted.is)) {
    return context.fail_with(code, base::cat("principal ", asked));
  }
  std::string name = context.text_of(wanted.is);
  if (std::ranges::find(names, name) != names.end()) return name;
  return fail(ErrorKind::kInvalid, "keytab ", options.keytab, " has no key of ", name, ", only of ", listed(names));
}

Result<std::shared_ptr<const Tickets>> from_keytab(const KerberosContext& context,
                                                   const hadoop::KerberosOptions& options) {
  if (access(options.keytab.c_str(), R_OK) != 0) {
    auto error = base::fail_errno(errno, base::cat("keytab ", options.keytab)).error();
    error.message += "; --kerberos-keytab is to be a file that this process may read";
    return fail(std::move(error));
  }
  Keytab keytab(context);
  if (const auto code = krb5_kt_resolve(context.is, base::cat("FILE:", options.keytab).c_str(), &keytab.is)) {
    return context.fail_with(code, base::cat("keytab ", options.keytab));
  }
  TM_TRY(const std::string name, who(context, keytab.is, options));
  const std::string doing = base::cat("logging in as ", name, " from ", options.keytab);
  Principal principal(context);
  if (const auto code = krb5_parse_name(context.is, name.c_str(), &principal.is)) return context.fail_with(code, doing);
  InitOptions init(context);
  if (const auto code = krb5_get_init_creds_opt_alloc(context.is, &init.is)) return context.fail_with(code, doing);
  krb5_creds creds{};
  if (const auto code = krb5_get_init_creds_keytab(context.is, &creds, principal.is, keytab.is, 0, nullptr, init.is)) {
    return context.fail_with(code, doing);
  }
  struct Contents {
    const KerberosContext& context;
    krb5_creds& creds;
    ~Contents() { krb5_free_cred_contents(context.is, &creds); }
  } const contents{context, creds};
  static std::atomic<unsigned> logins = 0;
  const std::string cache_name = base::cat("MEMORY:tidemark-", ++logins);
  Cache cache(context);
  auto code = krb5_cc_resolve(context.is, cache_name.c_str(), &cache.is);
  if (code == 0) code = krb5_cc_initialize(context.is, cache.is, principal.is);
  if (code == 0) code = krb5_cc_store_cred(context.is, cache.is, &creds);
  if (code != 0) return context.fail_with(code, "keeping the ticket");
  const std::int64_t begin = creds.times.starttime != 0 ? creds.times.starttime : creds.times.authtime;
  // The library's times are seconds in 32 bits that it reads as unsigned.
  return std::make_shared<const Tickets>(cache_name, name, static_cast<std::uint32_t>(begin),
                                         static_cast<std::uint32_t>(creds.times.endtime));
}

// The ticket for tickets of the cache's realm: the others follow from it.
std::optional<krb5_ticket_times> times_in(const KerberosContext& context, krb5_ccache cache, krb5_principal of) {
  krb5_creds like{};
  krb5_creds found{};
  Principal server(context);
  const std::string realm(of->realm.data, of->realm.length);
  if (krb5_build_principal(context.is, &server.is, static_cast<unsigned>(realm.size()), realm.c_str(), "krbtgt",
                           realm.c_str(), nullptr) != 0) {
    return std::nullopt;
  }
  like.client = of;
  like.server = server.is;
  if (krb5_cc_retrieve_cred(context.is, cache, 0, &like, &found) != 0) return std::nullopt;
  const krb5_ticket_times out = found.times;
  krb5_free_cred_contents(context.is, &found);
  return out;
}

Result<std::shared_ptr<const Tickets>> from_cache(const KerberosContext& context,
                                                  const hadoop::KerberosOptions& options) {
  Cache cache(context);
  if (const auto code = krb5_cc_default(context.is, &cache.is)) return context.fail_with(code, "the ticket cache");
  const std::string name =
      base::cat("ticket cache ", krb5_cc_get_type(context.is, cache.is), ":", krb5_cc_get_name(context.is, cache.is));
  Principal principal(context);
  if (const auto code = krb5_cc_get_principal(context.is, cache.is, &principal.is)) {
    const char* said = krb5_get_error_message(context.is, code);
    std::string message = base::cat(name, ": ", said, "; there is no ticket: run kinit, or give --kerberos-keytab");
    krb5_free_error_message(context.is, said);
    return fail(ErrorKind::kDenied, message);
  }
  const std::string found = context.text_of(principal.is);
  if (!options.principal.empty()) {
    Principal wanted(context);
    const std::string asked = with_own_host(options.principal);
    if (const auto code = krb5_parse_name(context.is, asked.c_str(), &wanted.is)) {
      return context.fail_with(code, base::cat("principal ", asked));
    }
    if (!krb5_principal_compare(context.is, wanted.is, principal.is)) {
      return fail(ErrorKind::kInvalid, name, " is of ", found, ", and --kerberos-principal wants ",
                  context.text_of(wanted.is));
    }
  }
  const auto times = times_in(context, cache.is, principal.is);
  if (!times) return fail(ErrorKind::kDenied, name, " of ", found, " has no ticket to begin with: run kinit");
  const auto end = static_cast<std::int64_t>(static_cast<std::uint32_t>(times->endtime));
  krb5_timestamp now = 0;
  krb5_timeofday(context.is, &now);
  if (end <= static_cast<std::int64_t>(static_cast<std::uint32_t>(now))) {
    return fail(ErrorKind::kDenied, name, ": the ticket of ", found, " ended at ",
                base::format_rfc3339(base::WallTime{std::chrono::seconds(end)}), ": run kinit again");
  }
  const krb5_timestamp begin = times->starttime != 0 ? times->starttime : times->authtime;
  return std::make_shared<const Tickets>("", found, static_cast<std::uint32_t>(begin), end);
}

bool is_looked_up_as(const std::string& name, const std::string& ip) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  bool is = false;
  for (const addrinfo* each = found; each != nullptr && !is; each = each->ai_next) {
    char text[NI_MAXHOST] = {};
    is = getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 && ip == text;
  }
  freeaddrinfo(found);
  return is;
}

}  // namespace

std::string with_own_host(const std::string& principal) {
  const std::string place = base::cat("/", kHostPlace);
  const std::size_t at = principal.find(place);
  const std::size_t end = at + place.size();
  if (at == std::string::npos || (end != principal.size() && principal[end] != '@')) return principal;
  return base::cat(principal.substr(0, at + 1), own_host(), principal.substr(end));
}

Tickets::~Tickets() {
  if (cache_.empty()) return;
  const KerberosContext context;
  krb5_ccache cache = nullptr;
  if (context.made == 0 && krb5_cc_resolve(context.is, cache_.c_str(), &cache) == 0) krb5_cc_destroy(context.is, cache);
}

Result<std::shared_ptr<const Tickets>> log_in(const hadoop::KerberosOptions& options) {
  const KerberosContext context;  // a new one each time: it reads krb5.conf, which may be another one by now
  if (context.made != 0) {
    return fail(error_of(context.made, base::cat("Kerberos cannot begin (error ", context.made, ")")));
  }
  return options.keytab.empty() ? from_cache(context, options) : from_keytab(context, options);
}

std::string canonical_name_of(const std::string& ip) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* address = nullptr;
  if (getaddrinfo(ip.c_str(), nullptr, &hints, &address) != 0) return ip;
  char name[NI_MAXHOST] = {};
  const int failed = getnameinfo(address->ai_addr, address->ai_addrlen, name, sizeof name, nullptr, 0, NI_NAMEREQD);
  freeaddrinfo(address);
  if (failed != 0 || !is_looked_up_as(name, ip)) return ip;
  return small(name);
}

}  // namespace tidemark::kerberos
