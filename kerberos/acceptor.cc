#include "kerberos/acceptor.h"

#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>

#include <string_view>
#include <utility>

#include "base/text.h"
#include "kerberos/errors.h"

namespace tidemark::kerberos {
namespace {

constexpr std::size_t kClientsWaitingMax = 1000;
constexpr std::string_view kService = "HTTP/";

// 1.3.6.1.5.5.2
gss_OID_desc spnego_mechanism() {
  static char bytes[] = "\x2b\x06\x01\x05\x05\x02";
  return {6, bytes};
}

// Everything of one client, freed at the end.
struct Acceptance {
  gss_cred_id_t credential = GSS_C_NO_CREDENTIAL;
  gss_ctx_id_t context = GSS_C_NO_CONTEXT;
  gss_name_t client = GSS_C_NO_NAME;
  gss_name_t server = GSS_C_NO_NAME;
  gss_buffer_desc answer = GSS_C_EMPTY_BUFFER;

  Acceptance() = default;
  ~Acceptance() {
    OM_uint32 minor = 0;
    gss_release_buffer(&minor, &answer);
    gss_release_name(&minor, &client);
    gss_release_name(&minor, &server);
    if (context != GSS_C_NO_CONTEXT) gss_delete_sec_context(&minor, &context, GSS_C_NO_BUFFER);
    gss_release_cred(&minor, &credential);
  }
  Acceptance(const Acceptance&) = delete;
  Acceptance& operator=(const Acceptance&) = delete;
};

std::string name_text(gss_name_t name) {
  OM_uint32 minor = 0;
  gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
  if (GSS_ERROR(gss_display_name(&minor, name, &text, nullptr))) return "";
  std::string out(static_cast<const char*>(text.value), text.length);
  gss_release_buffer(&minor, &text);
  return out;
}

std::unexpected<Error> denied(OM_uint32 major, OM_uint32 minor, std::string_view doing) {
  OM_uint32 ignored = 0;
  OM_uint32 more = 0;
  gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
  const bool specific = minor != 0;
  gss_display_status(&ignored, specific ? minor : major, specific ? GSS_C_MECH_CODE : GSS_C_GSS_CODE, gss_mech_krb5,
                     &more, &text);
  std::string said(static_cast<const char*>(text.value), text.length);
  gss_release_buffer(&ignored, &text);
  Error error = error_of(static_cast<std::int32_t>(minor), base::cat(doing, ": ", said));
  error.kind = ErrorKind::kDenied;
  return fail(std::move(error));
}

Result<hadoop::GssAcceptor::Accepted> accept_client(const std::string& keytab, const std::string& token) {
  Acceptance made;
  OM_uint32 minor = 0;
  gss_key_value_element_desc places[] = {{"keytab", keytab.c_str()}, {"rcache", "none:"}};
  const gss_key_value_set_desc store = {2, places};
  gss_OID_desc offered[] = {spnego_mechanism(), *gss_mech_krb5};
  gss_OID_set_desc mechanisms = {2, offered};
  OM_uint32 major = gss_acquire_cred_from(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, &mechanisms, GSS_C_ACCEPT, &store,
                                          &made.credential, nullptr, nullptr);
  if (GSS_ERROR(major)) return denied(major, minor, base::cat("keytab ", keytab));
  gss_buffer_desc in = {token.size(), const_cast<char*>(token.data())};
  major = gss_accept_sec_context(&minor, &made.context, made.credential, &in, GSS_C_NO_CHANNEL_BINDINGS, &made.client,
                                 nullptr, &made.answer, nullptr, nullptr, nullptr);
  if (GSS_ERROR(major)) return denied(major, minor, "the client's token");
  if ((major & GSS_S_CONTINUE_NEEDED) != 0) {
    return fail(ErrorKind::kDenied, "the client wants a mechanism of several steps; only Kerberos is supported");
  }
  major = gss_inquire_context(&minor, made.context, nullptr, &made.server, nullptr, nullptr, nullptr, nullptr, nullptr);
  if (GSS_ERROR(major)) return denied(major, minor, "the client's ticket");
  if (const std::string server = name_text(made.server); !server.starts_with(kService)) {
    return fail(ErrorKind::kDenied, "the client's ticket is for ", server, ", and one for ", kService,
                "HOST is expected");
  }
  return hadoop::GssAcceptor::Accepted{name_text(made.client),
                                       std::string(static_cast<const char*>(made.answer.value), made.answer.length)};
}

}  // namespace

MitAcceptor::MitAcceptor(net::EventLoop& loop, std::string keytab)
    : loop_(loop), keytab_(std::move(keytab)), worker_(1, kClientsWaitingMax, net::WorkerPool::AtEnd::kAbandon) {}

net::Task<Result<hadoop::GssAcceptor::Accepted>> MitAcceptor::accept(std::string token) {
  using Answer = Result<Accepted>;
  auto work = [keytab = keytab_, token = std::move(token)]() -> Answer { return accept_client(keytab, token); };
  auto answer = co_await worker_.run<Answer>(loop_, std::move(work));
  if (!answer) co_return fail(std::move(answer).error());
  if (!*answer) co_return fail(std::move(*answer).error().within("kerberos"));
  co_return std::move(**answer);
}

}  // namespace tidemark::kerberos
