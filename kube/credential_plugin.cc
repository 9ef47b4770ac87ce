#include "kube/credential_plugin.h"

#include "base/json.h"
#include "base/text.h"

namespace tidemark::kube {
namespace {

// KUBERNETES_EXEC_INFO.
std::string exec_info(const CredentialPlugin& plugin, bool interactive) {
  std::string text;
  base::JsonWriter writer(text);
  writer.begin_object().member("kind", "ExecCredential").member("apiVersion", plugin.api_version);
  writer.key("spec").begin_object();
  if (!plugin.cluster.empty()) writer.key("cluster").raw(plugin.cluster);
  writer.member("interactive", interactive).end_object().end_object();
  return text;
}

Result<std::string> text_of(const Json& object, std::string_view key) {
  const Json* member = object.member(key);
  if (member == nullptr || member->is_null()) return std::string();
  if (!member->is_string()) return fail(ErrorKind::kInvalid, "status.", key, " is not a string");
  return member->as_string();
}

}  // namespace

Result<PluginCommand> plugin_command(const CredentialPlugin& plugin, bool terminal) {
  if (plugin.interactive == InteractiveMode::kAlways && !terminal) {
    return fail(ErrorKind::kDenied, "interactiveMode is Always, and standard input is not a terminal");
  }
  PluginCommand command;
  command.interactive = terminal && plugin.interactive != InteractiveMode::kNever;
  command.argv.push_back(plugin.command);
  command.argv.insert(command.argv.end(), plugin.args.begin(), plugin.args.end());
  command.env = plugin.env;
  command.env.emplace_back("KUBERNETES_EXEC_INFO", exec_info(plugin, command.interactive));
  return command;
}

Result<Credential> read_credential(const CredentialPlugin& plugin, const PluginEnd& end) {
  if (end.signal != 0 || end.exit_code != 0) {
    const std::string how = end.signal != 0 ? base::cat("signal ", end.signal) : base::cat("exit code ", end.exit_code);
    const std::string_view said = base::trim(end.errors);
    return fail(ErrorKind::kDenied, how, said.empty() ? std::string() : base::cat(": ", said));
  }
  const auto parsed = Json::parse(end.output);
  if (!parsed || parsed->text_at("kind") != "ExecCredential") {
    return fail(ErrorKind::kInvalid, "its output is not a JSON object of kind ExecCredential");
  }
  if (const std::string_view version = parsed->text_at("apiVersion"); version != plugin.api_version) {
    return fail(ErrorKind::kInvalid, "it printed apiVersion ", base::in_quotes(version), ", expected ",
                base::in_quotes(plugin.api_version), " as in the kubeconfig");
  }
  const Json* status = parsed->member("status");
  if (status == nullptr || !status->is_object()) return fail(ErrorKind::kInvalid, "its output has no status");
  Credential credential;
  TM_TRY(credential.token, text_of(*status, "token"));
  TM_TRY(credential.certificate_pem, text_of(*status, "clientCertificateData"));
  TM_TRY(credential.key_pem, text_of(*status, "clientKeyData"));
  if (credential.certificate_pem.empty() != credential.key_pem.empty()) {
    return fail(ErrorKind::kInvalid, "status has only one of clientCertificateData and clientKeyData");
  }
  if (credential.token.empty() && credential.certificate_pem.empty()) {
    return fail(ErrorKind::kInvalid, "status has no token and no clientCertificateData");
  }
  TM_TRY(const std::string expires, text_of(*status, "expirationTimestamp"));
  if (!expires.empty()) {
    credential.expires = base::parse_rfc3339(expires);
    if (!credential.expires) {
      return fail(ErrorKind::kInvalid, "status.expirationTimestamp ", base::in_quotes(expires),
                  " is not an RFC 3339 time");
    }
  }
  return credential;
}

Error plugin_failed(const CredentialPlugin& plugin, const Error& why) {
  Error error;
  error.kind = ErrorKind::kDenied;
  error.message = base::cat("cannot get a credential for user ", base::in_quotes(plugin.user), " from ",
                            base::in_quotes(plugin.command), ": ", why.message);
  const std::string_view hint = base::trim(plugin.install_hint);
  if (!hint.empty()) error.message += base::cat("\n", hint);
  return error;
}

}  // namespace tidemark::kube
