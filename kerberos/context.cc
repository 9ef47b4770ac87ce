#include "kerberos/context.h"

#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>

#include <string_view>
#include <utility>

#include "base/text.h"
#include "kerberos/errors.h"
#include "kerberos/tickets.h"

namespace tidemark::kerberos {
namespace {

constexpr OM_uint32 kWanted =
    GSS_C_MUTUAL_FLAG | GSS_C_CONF_FLAG | GSS_C_INTEG_FLAG | GSS_C_REPLAY_FLAG | GSS_C_SEQUENCE_FLAG;

gss_buffer_desc buffer_of(const std::string& bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

struct Buffer {
  gss_buffer_desc is = GSS_C_EMPTY_BUFFER;
  Buffer() = default;
  ~Buffer() {
    OM_uint32 minor = 0;
    gss_release_buffer(&minor, &is);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::string text() const { return {static_cast<const char*>(is.value), is.length}; }
};

std::string say(OM_uint32 code, int type) {
  std::string out;
  OM_uint32 more = 0;
  do {
    OM_uint32 minor = 0;
    Buffer text;
    if (GSS_ERROR(gss_display_status(&minor, code, type, gss_mech_krb5, &more, &text.is))) break;
    out += base::cat(out.empty() ? "" : ", ", text.text());
  } while (more != 0);
  return out;
}

std::unexpected<Error> fail_with(OM_uint32 major, OM_uint32 minor, std::string_view doing) {
  // The mechanism's error is more specific than that of the interface.
  std::string said = minor != 0 ? say(minor, GSS_C_MECH_CODE) : say(major, GSS_C_GSS_CODE);
  return fail(error_of(static_cast<std::int32_t>(minor), base::cat(doing, ": ", said)));
}

class MitContext : public Context {
 public:
  MitContext(std::shared_ptr<const Tickets> tickets, std::string server)
      : tickets_(std::move(tickets)), server_(std::move(server)) {}
  ~MitContext() override {
    OM_uint32 minor = 0;
    if (context_ != GSS_C_NO_CONTEXT) gss_delete_sec_context(&minor, &context_, GSS_C_NO_BUFFER);
    if (name_ != GSS_C_NO_NAME) gss_release_name(&minor, &name_);
    if (credential_ != GSS_C_NO_CREDENTIAL) gss_release_cred(&minor, &credential_);
  }
  MitContext(const MitContext&) = delete;
  MitContext& operator=(const MitContext&) = delete;

  Result<void> begin() {
    OM_uint32 minor = 0;
    gss_buffer_desc name = buffer_of(server_);
    OM_uint32 major = gss_import_name(&minor, &name, const_cast<gss_OID>(GSS_KRB5_NT_PRINCIPAL_NAME), &name_);
    if (GSS_ERROR(major)) return fail_with(major, minor, base::cat("the server's name ", server_));
    gss_key_value_element_desc cache = {"ccache", tickets_->cache().c_str()};
    const gss_key_value_set_desc store = {1, &cache};
    gss_OID_set_desc mechanisms = {1, const_cast<gss_OID>(gss_mech_krb5)};
    major =
        gss_acquire_cred_from(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, &mechanisms, GSS_C_INITIATE,
                              tickets_->cache().empty() ? GSS_C_NO_CRED_STORE : &store, &credential_, nullptr, nullptr);
    if (GSS_ERROR(major)) return fail_with(major, minor, base::cat("the tickets of ", tickets_->principal()));
    return {};
  }

  Result<Step> step(const std::string& token) override {
    if (complete_) return fail(ErrorKind::kInvalid, "a step more than there are");
    OM_uint32 minor = 0;
    OM_uint32 flags = 0;
    gss_buffer_desc in = buffer_of(token);
    Buffer out;
    const OM_uint32 major = gss_init_sec_context(
        &minor, credential_, &context_, name_, const_cast<gss_OID>(gss_mech_krb5), kWanted, 0,
        GSS_C_NO_CHANNEL_BINDINGS, token.empty() ? GSS_C_NO_BUFFER : &in, nullptr, &out.is, &flags, nullptr);
    if (GSS_ERROR(major)) {
      return fail_with(major, minor, base::cat(tickets_->principal(), " and the server ", server_));
    }
    complete_ = (major & GSS_S_CONTINUE_NEEDED) == 0;
    if (complete_ && (flags & GSS_C_MUTUAL_FLAG) == 0) {
      return fail(ErrorKind::kDenied, "the server ", server_, " did not authenticate");
    }
    return Step{out.text(), complete_};
  }

  Result<std::string> wrap(const std::string& bytes, bool confidential) override {
    TM_TRY_VOID(agreed());
    OM_uint32 minor = 0;
    int hidden = 0;
    gss_buffer_desc in = buffer_of(bytes);
    Buffer out;
    const OM_uint32 major = gss_wrap(&minor, context_, confidential ? 1 : 0, GSS_C_QOP_DEFAULT, &in, &hidden, &out.is);
    if (GSS_ERROR(major)) return fail_with(major, minor, "wrapping");
    if (confidential && hidden == 0)
      return fail(ErrorKind::kInternal, "what was to be hidden would be sent in the clear");
    return out.text();
  }

  Result<Opened> unwrap(const std::string& token) override {
    TM_TRY_VOID(agreed());
    OM_uint32 minor = 0;
    int hidden = 0;
    gss_buffer_desc in = buffer_of(token);
    Buffer out;
    const OM_uint32 major = gss_unwrap(&minor, context_, &in, &out.is, &hidden, nullptr);
    if (GSS_ERROR(major)) return fail_with(major, minor, "unwrapping");
    // Answers of Hadoop's threads may overtake each other after they were numbered. A repeated number is an attack.
    if ((major & (GSS_S_DUPLICATE_TOKEN | GSS_S_OLD_TOKEN)) != 0) {
      return fail(ErrorKind::kDenied, "a repeated token: possible replay attack");
    }
    return Opened{out.text(), hidden != 0};
  }

  Result<std::uint32_t> wrap_max(std::uint32_t token_max, bool confidential) override {
    TM_TRY_VOID(agreed());
    OM_uint32 minor = 0;
    OM_uint32 out = 0;
    const OM_uint32 major =
        gss_wrap_size_limit(&minor, context_, confidential ? 1 : 0, GSS_C_QOP_DEFAULT, token_max, &out);
    if (GSS_ERROR(major)) return fail_with(major, minor, "how much goes into a token");
    return out;
  }

 private:
  Result<void> agreed() const {
    if (complete_) return {};
    return fail(ErrorKind::kInvalid, "nothing is agreed on yet with ", server_);
  }

  std::shared_ptr<const Tickets> tickets_;
  const std::string server_;
  gss_name_t name_ = GSS_C_NO_NAME;
  gss_cred_id_t credential_ = GSS_C_NO_CREDENTIAL;
  gss_ctx_id_t context_ = GSS_C_NO_CONTEXT;
  bool complete_ = false;
};

}  // namespace

Result<std::unique_ptr<Context>> Context::make(std::shared_ptr<const Tickets> tickets, const std::string& server) {
  auto made = std::make_unique<MitContext>(std::move(tickets), with_own_host(server));
  TM_TRY_VOID(made->begin());
  return made;
}

}  // namespace tidemark::kerberos
