#include "kerberos/errors.h"

#include <krb5.h>

#include "base/text.h"

namespace tidemark::kerberos {

std::string_view what_helps(std::int32_t code) {
  switch (code) {
    case KRB5_KDC_UNREACH:
    case KRB5_REALM_CANT_RESOLVE:
      return "is a KDC of the realm up, and does krb5.conf ($KRB5_CONFIG) or DNS say where?";
    case KRB5_REALM_UNKNOWN:
    case KRB5_CONFIG_NODEFREALM:
    case KRB5_CONFIG_CANTOPEN:
    case KRB5_CONFIG_BADFORMAT:
      return "krb5.conf ($KRB5_CONFIG) is to have the realm, with its KDC";
    case KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN:
    case KRB5KDC_ERR_CLIENT_REVOKED:
      return "the KDC has no such principal, or took it away: is it spelt as it was added there?";
    case KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN:
      return "the KDC has no such service: is yarn.resourcemanager.principal (of a NodeManager's web address: "
             "--node-manager-principal) what it logs in as, and is _HOST the name that its address is looked up as?";
    case KRB5KDC_ERR_PREAUTH_FAILED:
    case KRB5KRB_AP_ERR_BAD_INTEGRITY:
    case KRB5_PREAUTH_FAILED:
      return "the key in the keytab is not the one that the KDC has: it was changed there since; write the keytab anew "
             "(kadmin: ktadd)";
    case KRB5KRB_AP_ERR_SKEW:
    case KRB5_KDCREP_SKEW:
    case KRB5KRB_AP_ERR_TKT_NYV:
      return "this machine's clock and the other's are apart by more than Kerberos allows (5 minutes): are both kept "
             "by "
             "NTP?";
    case KRB5KRB_AP_ERR_TKT_EXPIRED:
      return "the ticket has ended: kinit makes a new one, and --kerberos-keytab makes them for ever";
    case KRB5KDC_ERR_ETYPE_NOSUPP:
    case KRB5_BAD_ENCTYPE:
      return "the KDC and this machine have no kind of encryption in common: see permitted_enctypes in krb5.conf, and "
             "the kinds of key in the keytab (klist -ke)";
    case KRB5_FCC_NOFILE:
    case KRB5_CC_NOTFOUND:
      return "there is no ticket: run kinit, or give --kerberos-keytab";
    default:
      return "";
  }
}

namespace {

ErrorKind kind_of(std::int32_t code) {
  switch (code) {
    case KRB5_KDC_UNREACH:
    case KRB5_REALM_CANT_RESOLVE:
      return ErrorKind::kUnavailable;
    case KRB5_CONFIG_NODEFREALM:
    case KRB5_CONFIG_CANTOPEN:
    case KRB5_CONFIG_BADFORMAT:
      return ErrorKind::kInvalid;
    default:
      return ErrorKind::kDenied;
  }
}

}  // namespace

Error error_of(std::int32_t code, std::string_view said) {
  const std::string_view helps = what_helps(code);
  return {kind_of(code), helps.empty() ? std::string(said) : base::cat(said, "; ", helps), 0, 0};
}

}  // namespace tidemark::kerberos
