#include "kube/config.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/yaml.h"

namespace tidemark::kube {
namespace {

constexpr std::string_view kServiceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

// One named entry of clusters, users or contexts, and the file that its relative paths belong to.
struct Entry {
  std::string name;
  std::string file;
  Json value;
};

struct Merged {
  std::vector<Entry> clusters;
  std::vector<Entry> users;
  std::vector<Entry> contexts;
  std::string current_context;
};

const Entry* find_entry(const std::vector<Entry>& entries, std::string_view name) {
  const auto at = std::find_if(entries.begin(), entries.end(), [name](const Entry& e) { return e.name == name; });
  return at == entries.end() ? nullptr : &*at;
}

std::string names_of(const std::vector<Entry>& entries) {
  constexpr std::size_t kShownMax = 10;
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    if (names.size() == kShownMax) {
      names.push_back("…");
      break;
    }
    names.push_back(base::in_quotes(entry.name));
  }
  return names.empty() ? "none" : base::join(names, ", ");
}

// "" where the member is absent or null.
Result<std::string> text_member(const Json& object, std::string_view key) {
  const Json* member = object.member(key);
  if (member == nullptr || member->is_null()) return std::string();
  if (!member->is_string()) return base::fail(ErrorKind::kInvalid, key, ": wanted a string");
  return member->as_string();
}

Result<bool> flag_member(const Json& object, std::string_view key) {
  const Json* member = object.member(key);
  if (member == nullptr || member->is_null()) return false;
  if (!member->is_bool()) return base::fail(ErrorKind::kInvalid, key, ": wanted true or false");
  return member->as_bool();
}

bool has_member(const Json& object, std::string_view key) {
  const Json* member = object.member(key);
  return member != nullptr && !member->is_null() && !(member->is_string() && member->as_string().empty());
}

// `list` is "clusters", `inner` "cluster". Entries of an earlier file win; twice in one file is a mistake.
Result<void> merge_entries(const Json& root, std::string_view list, std::string_view inner, const std::string& file,
                           std::vector<Entry>& into) {
  const Json* entries = root.member(list);
  if (entries == nullptr || entries->is_null()) return {};
  if (!entries->is_array()) return base::fail(ErrorKind::kInvalid, list, ": wanted a list");
  const std::size_t earlier = into.size();
  for (std::size_t i = 0; i < entries->as_array().size(); ++i) {
    const Json& entry = entries->as_array()[i];
    const std::string place = base::cat(list, "[", i, "]");
    if (!entry.is_object()) return base::fail(ErrorKind::kInvalid, place, ": wanted an object with a name");
    auto name = text_member(entry, "name");
    if (!name) return base::fail(std::move(name).error().within(place));
    const auto at = std::find_if(into.begin(), into.end(), [&](const Entry& e) { return e.name == *name; });
    if (at != into.end()) {
      if (static_cast<std::size_t>(at - into.begin()) < earlier) continue;
      return base::fail(ErrorKind::kInvalid, place, ": a second entry with the name ", base::in_quotes(*name));
    }
    const Json* value = entry.member(inner);
    if (value != nullptr && !value->is_null() && !value->is_object()) {
      return base::fail(ErrorKind::kInvalid, place, ".", inner, ": wanted an object");
    }
    into.push_back({std::move(*name), file, value == nullptr ? Json() : *value});
  }
  return {};
}

Result<void> merge_text(const KubeconfigText& text, Merged& into) {
  if (text.text.size() > kKubeconfigBytesMax) {
    return base::fail(ErrorKind::kExhausted, "a kubeconfig of more than ", kKubeconfigBytesMax, " bytes");
  }
  TM_TRY(const Json root, base::parse_yaml(text.text));
  if (root.is_null()) return {};
  if (!root.is_object()) return base::fail(ErrorKind::kInvalid, "wanted a kubeconfig, found no object");
  TM_TRY(const std::string kind, text_member(root, "kind"));
  if (!kind.empty() && kind != "Config") {
    return base::fail(ErrorKind::kInvalid, "wanted kind Config, found ", base::in_quotes(kind));
  }
  TM_TRY_VOID(merge_entries(root, "clusters", "cluster", text.path, into.clusters));
  TM_TRY_VOID(merge_entries(root, "users", "user", text.path, into.users));
  TM_TRY_VOID(merge_entries(root, "contexts", "context", text.path, into.contexts));
  TM_TRY(std::string current, text_member(root, "current-context"));
  if (into.current_context.empty()) into.current_context = std::move(current);
  return {};
}

std::string resolve(const std::string& path, const std::string& file) {
  if (path.empty() || path.front() == '/') return path;
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? path : file.substr(0, slash + 1) + path;
}

// "x-data" (base64) outranks "x" (a file), as in kubectl.
Result<net::PemSource> pem_member(const Entry& entry, std::string_view key) {
  net::PemSource pem;
  const std::string data_key = base::cat(key, "-data");
  TM_TRY(const std::string data, text_member(entry.value, data_key));
  if (!data.empty()) {
    auto decoded = base::base64_decode(base::trim(data));
    if (!decoded) return base::fail(ErrorKind::kInvalid, data_key, ": not base64");
    pem.text = std::move(*decoded);
    return pem;
  }
  TM_TRY(const std::string file, text_member(entry.value, key));
  pem.file = resolve(file, entry.file);
  return pem;
}

Result<void> use_cluster(const Entry& cluster, ClusterConfig& config) {
  TM_TRY(const std::string server, text_member(cluster.value, "server"));
  if (server.empty()) return base::fail(ErrorKind::kInvalid, "server is not set");
  auto url = net::parse_url(server);
  if (!url) return base::fail(std::move(url).error().within("server"));
  config.http.url = std::move(*url);
  if (has_member(cluster.value, "proxy-url")) {
    return base::fail(ErrorKind::kUnsupported,
                      "proxy-url: proxies are not supported; name a server that is reached directly");
  }
  TM_TRY(config.http.tls.ca, pem_member(cluster, "certificate-authority"));
  TM_TRY(config.http.tls.skip_verification, flag_member(cluster.value, "insecure-skip-tls-verify"));
  TM_TRY(config.http.tls.server_name, text_member(cluster.value, "tls-server-name"));
  if (config.http.tls.skip_verification && config.http.tls.ca.given()) {
    return base::fail(ErrorKind::kInvalid,
                      "insecure-skip-tls-verify and a certificate-authority contradict each other; keep one");
  }
  return {};
}

Result<void> refuse_unsupported_user(const Json& user) {
  struct Known {
    std::string_view key;
    std::string_view instead;
  };
  static constexpr Known kKnown[] = {
      {"auth-provider",
       "Kubernetes 1.26 removed it; use the cloud's exec plugin (aws eks update-kubeconfig, gcloud container clusters "
       "get-credentials, kubelogin convert-kubeconfig), or a token, a tokenFile or a client certificate"},
      {"username", "basic authentication was removed from Kubernetes; use a token or a client certificate"},
      {"password", "basic authentication was removed from Kubernetes; use a token or a client certificate"},
      {"as", "impersonation is not supported; use credentials of that user"},
      {"as-uid", "impersonation is not supported; use credentials of that user"},
      {"as-groups", "impersonation is not supported; use credentials of that user"},
      {"as-user-extra", "impersonation is not supported; use credentials of that user"},
  };
  for (const Known& known : kKnown) {
    if (has_member(user, known.key)) return base::fail(ErrorKind::kUnsupported, known.key, ": ", known.instead);
  }
  return {};
}

Result<void> check_token(std::string_view token) {
  for (const char c : token) {
    if (c <= ' ' || c > '~') return base::fail(ErrorKind::kInvalid, "a token is printable ASCII without blanks");
  }
  return {};
}

// A token is as good as a password: it goes over the wire in the clear only where there is no wire.
Result<void> check_clear_text(const net::Url& url) {
  if (url.scheme != "http") return {};
  const bool loopback = url.host == "localhost" || url.host == "::1" || url.host.starts_with("127.");
  if (loopback) return {};
  return base::fail(ErrorKind::kInvalid, "the token would travel unencrypted to http://", url.host,
                    "; use an https server");
}

// The value of the cluster's extension that is meant for plugins; null without one.
const Json* plugin_config(const Json& cluster) {
  const Json* extensions = cluster.member("extensions");
  if (extensions == nullptr || !extensions->is_array()) return nullptr;
  for (const Json& each : extensions->as_array()) {
    if (each.text_at("name") == "client.authentication.k8s.io/exec") return each.member("extension");
  }
  return nullptr;
}

// spec.cluster of KUBERNETES_EXEC_INFO. The certificate authority goes as data, also if the kubeconfig names a file.
Result<std::string> plugin_cluster(const Entry& cluster, const net::PemSource& ca, const Files& files) {
  Json info = Json::object({{"server", std::string(cluster.value.text_at("server"))}});
  for (const std::string_view key : {"tls-server-name", "insecure-skip-tls-verify"}) {
    if (has_member(cluster.value, key)) info[key] = *cluster.value.member(key);
  }
  std::string pem = ca.text;
  if (!ca.file.empty()) {
    auto read = files.read(ca.file, kKubeconfigBytesMax);
    if (!read) return base::fail(std::move(read).error().within("provideClusterInfo: certificate-authority"));
    pem = std::move(*read);
  }
  if (!pem.empty()) info["certificate-authority-data"] = base::base64_encode(pem);
  if (const Json* config = plugin_config(cluster.value)) info["config"] = *config;
  return info.dump();
}

Result<InteractiveMode> interactive_mode(const std::string& word, std::string_view api_version) {
  if (word == "Never") return InteractiveMode::kNever;
  if (word == "IfAvailable") return InteractiveMode::kIfAvailable;
  if (word == "Always") return InteractiveMode::kAlways;
  if (word.empty() && api_version.ends_with("/v1beta1")) return InteractiveMode::kIfAvailable;
  return base::fail(ErrorKind::kInvalid, "interactiveMode ", base::in_quotes(word),
                    ": expected Never, IfAvailable or Always");
}

Result<CredentialPlugin> read_plugin(const Json& exec, const Entry& user, const Entry& cluster,
                                     const net::PemSource& ca, const Files& files) {
  CredentialPlugin plugin;
  plugin.user = user.name;
  TM_TRY(plugin.api_version, text_member(exec, "apiVersion"));
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    return base::fail(ErrorKind::kUnsupported, "apiVersion ", base::in_quotes(plugin.api_version),
                      ": expected client.authentication.k8s.io/v1 or v1beta1; update the plugin and its kubeconfig");
  }
  TM_TRY(const std::string command, text_member(exec, "command"));
  if (command.empty()) return base::fail(ErrorKind::kInvalid, "command is not set");
  // A name without a slash is looked up in PATH.
  plugin.command = command.find('/') == std::string::npos ? command : resolve(command, user.file);
  if (const Json* args = exec.member("args"); args != nullptr && !args->is_null()) {
    if (!args->is_array()) return base::fail(ErrorKind::kInvalid, "args: wanted a list");
    for (const Json& each : args->as_array()) {
      if (!each.is_string()) return base::fail(ErrorKind::kInvalid, "args: wanted strings");
      plugin.args.push_back(each.as_string());
    }
  }
  if (const Json* env = exec.member("env"); env != nullptr && !env->is_null()) {
    if (!env->is_array()) return base::fail(ErrorKind::kInvalid, "env: wanted a list");
    for (const Json& each : env->as_array()) {
      const std::string name(each.text_at("name"));
      if (name.empty() || name.find('=') != std::string::npos) {
        return base::fail(ErrorKind::kInvalid, "env: invalid name ", base::in_quotes(name));
      }
      plugin.env.emplace_back(name, std::string(each.text_at("value")));
    }
  }
  TM_TRY(plugin.install_hint, text_member(exec, "installHint"));
  TM_TRY(const std::string mode, text_member(exec, "interactiveMode"));
  TM_TRY(plugin.interactive, interactive_mode(mode, plugin.api_version));
  TM_TRY(const bool provide_cluster, flag_member(exec, "provideClusterInfo"));
  if (provide_cluster) {
    TM_TRY(plugin.cluster, plugin_cluster(cluster, ca, files));
  }
  return plugin;
}

Result<void> use_plugin(const Entry& user, const Entry& cluster, const Files& files, ClusterConfig& config) {
  if (!has_member(user.value, "exec")) return {};
  auto plugin = read_plugin(*user.value.member("exec"), user, cluster, config.http.tls.ca, files);
  if (!plugin) return base::fail(std::move(plugin).error().within("exec"));
  TM_TRY_VOID(check_clear_text(config.http.url));
  config.plugin = std::move(*plugin);
  return {};
}

Result<void> use_user(const Entry& user, const Entry& cluster, const Files& files, const base::Clock& clock,
                      ClusterConfig& config) {
  TM_TRY_VOID(refuse_unsupported_user(user.value));
  TM_TRY(config.http.tls.certificate, pem_member(user, "client-certificate"));
  TM_TRY(config.http.tls.key, pem_member(user, "client-key"));
  if (config.http.tls.certificate.given() != config.http.tls.key.given()) {
    return base::fail(ErrorKind::kInvalid, "client-certificate and client-key must be set together; only one is set");
  }
  TM_TRY(std::string token, text_member(user.value, "token"));
  TM_TRY(const std::string token_file, text_member(user.value, "tokenFile"));
  if (auto checked = check_token(token); !checked) return base::fail(std::move(checked).error().within("token"));
  if (token.empty() && token_file.empty()) return use_plugin(user, cluster, files, config);
  TM_TRY_VOID(check_clear_text(config.http.url));
  if (!token_file.empty()) {
    auto opened = TokenFile::open(resolve(token_file, user.file), files, clock);
    if (opened) {
      config.token_file = std::move(*opened);
      config.bearer = [file = config.token_file] { return file->token(); };
      return {};
    }
    // kubectl falls back to the token beside it.
    if (token.empty()) return base::fail(std::move(opened).error().within("tokenFile"));
  }
  config.bearer = [token = std::move(token)] { return token; };
  return {};
}

Result<const Entry*> choose_context(const Merged& merged, std::string_view wanted) {
  const std::string_view name = wanted.empty() ? std::string_view(merged.current_context) : wanted;
  if (name.empty()) {
    return base::fail(ErrorKind::kInvalid, "no current-context is set; name one of: ", names_of(merged.contexts));
  }
  const Entry* context = find_entry(merged.contexts, name);
  if (context == nullptr) {
    return base::fail(ErrorKind::kNotFound, "no context ", base::in_quotes(name),
                      "; there are: ", names_of(merged.contexts));
  }
  return context;
}

Result<KubeconfigText> read_kubeconfig(const std::string& path, const Files& files) {
  auto text = files.read(path, kKubeconfigBytesMax);
  if (!text) return base::fail(std::move(text).error().within("kubeconfig"));
  return KubeconfigText{path, std::move(*text)};
}

bool needs_brackets(std::string_view host) {
  return host.find(':') != std::string_view::npos && !host.starts_with('[');
}

}  // namespace

Result<ClusterConfig> parse_kubeconfig(std::span<const KubeconfigText> texts, std::string_view context_name,
                                       const Files& files, const base::Clock& clock) {
  Merged merged;
  std::vector<std::string> paths;
  for (const KubeconfigText& text : texts) {
    if (auto taken = merge_text(text, merged); !taken) {
      return base::fail(std::move(taken).error().within("kubeconfig " + text.path));
    }
    paths.push_back(text.path);
  }
  const std::string source = "kubeconfig " + base::join(paths, ":");
  auto chosen = choose_context(merged, context_name);
  if (!chosen) return base::fail(std::move(chosen).error().within(source));
  const Entry& context = **chosen;
  const std::string place = base::cat(source, ": context ", base::in_quotes(context.name));

  auto cluster_name = text_member(context.value, "cluster");
  auto user_name = text_member(context.value, "user");
  auto ns = text_member(context.value, "namespace");
  for (auto* member : {&cluster_name, &user_name, &ns}) {
    if (!*member) return base::fail(std::move(*member).error().within(place));
  }
  const Entry* cluster = find_entry(merged.clusters, *cluster_name);
  if (cluster == nullptr) {
    return base::fail(ErrorKind::kNotFound, place, ": no cluster ", base::in_quotes(*cluster_name),
                      "; there are: ", names_of(merged.clusters));
  }

  ClusterConfig config;
  config.bearer = [] { return std::string(); };
  config.source = base::cat(source, " (context ", context.name, ")");
  if (!ns->empty()) config.default_namespace = std::move(*ns);
  if (auto used = use_cluster(*cluster, config); !used) {
    return base::fail(std::move(used).error().within(base::cat(source, ": cluster ", base::in_quotes(cluster->name))));
  }
  if (user_name->empty()) return config;
  const Entry* user = find_entry(merged.users, *user_name);
  if (user == nullptr) {
    return base::fail(ErrorKind::kNotFound, place, ": no user ", base::in_quotes(*user_name),
                      "; there are: ", names_of(merged.users));
  }
  if (auto used = use_user(*user, *cluster, files, clock, config); !used) {
    return base::fail(std::move(used).error().within(base::cat(source, ": user ", base::in_quotes(user->name))));
  }
  return config;
}

Result<ClusterConfig> in_cluster_config(const ConfigRequest& request, const Files& files, const base::Clock& clock) {
  if (request.service_host.empty() || request.service_port.empty()) {
    return base::fail(ErrorKind::kNotFound,
                      "in-cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; this is no pod");
  }
  ClusterConfig config;
  config.source = "in-cluster";
  const bool bracket = needs_brackets(request.service_host);
  const std::string server =
      base::cat("https://", bracket ? "[" : "", request.service_host, bracket ? "]" : "", ":", request.service_port);
  auto url = net::parse_url(server);
  if (!url) return base::fail(std::move(url).error().within("in-cluster"));
  config.http.url = std::move(*url);

  const std::string folder = request.root + std::string(kServiceAccountFolder);
  auto token = TokenFile::open(folder + "/token", files, clock);
  if (!token) return base::fail(std::move(token).error().within("in-cluster"));
  config.token_file = std::move(*token);
  config.bearer = [file = config.token_file] { return file->token(); };
  config.http.tls.ca.file = folder + "/ca.crt";
  if (!files.stamp(config.http.tls.ca.file)) {
    return base::fail(ErrorKind::kNotFound, "in-cluster: ", config.http.tls.ca.file,
                      " is missing; without it the server cannot be verified");
  }
  constexpr std::size_t kNamespaceBytesMax = 256;
  if (auto ns = files.read(folder + "/namespace", kNamespaceBytesMax); ns && !base::trim(*ns).empty()) {
    config.default_namespace = base::trim(*ns);
  }
  return config;
}

Result<ClusterConfig> find_config(const ConfigRequest& request, const Files& files, const base::Clock& clock) {
  if (!request.kubeconfig.empty()) {
    TM_TRY(const KubeconfigText text, read_kubeconfig(request.kubeconfig, files));
    return parse_kubeconfig({&text, 1}, request.context, files, clock);
  }
  if (!request.kubeconfig_list.empty()) {
    std::vector<KubeconfigText> texts;
    for (const std::string_view path : base::split(request.kubeconfig_list, ':')) {
      if (path.empty()) continue;
      auto text = read_kubeconfig(std::string(path), files);
      if (text) {
        texts.push_back(std::move(*text));
      } else if (text.error().kind != ErrorKind::kNotFound) {
        return base::fail(std::move(text).error());
      }
    }
    // The user named a cluster; silently using another one would be worse than stopping.
    if (texts.empty()) {
      return base::fail(ErrorKind::kNotFound, "KUBECONFIG names ", base::in_quotes(request.kubeconfig_list, 400),
                        ", and none of these files exists");
    }
    return parse_kubeconfig(texts, request.context, files, clock);
  }
  if (!request.service_host.empty()) {
    if (!request.context.empty()) {
      return base::fail(ErrorKind::kInvalid, "context ", base::in_quotes(request.context),
                        ": a pod's own account has no contexts; name a kubeconfig with --kubeconfig");
    }
    return in_cluster_config(request, files, clock);
  }
  if (!request.home.empty()) {
    auto text = read_kubeconfig(request.home + "/.kube/config", files);
    if (text) return parse_kubeconfig({&*text, 1}, request.context, files, clock);
    if (text.error().kind != ErrorKind::kNotFound) return base::fail(std::move(text).error());
  }
  return base::fail(ErrorKind::kNotFound,
                    "no API server is configured: --kubeconfig and KUBECONFIG are not set, "
                    "KUBERNETES_SERVICE_HOST is not set, and there is no ",
                    request.home.empty() ? std::string("home folder") : request.home + "/.kube/config");
}

TokenFile::TokenFile(std::string path, Files files, const base::Clock& clock)
    : path_(std::move(path)), files_(std::move(files)), clock_(clock) {}

Result<std::shared_ptr<TokenFile>> TokenFile::open(std::string path, Files files, const base::Clock& clock) {
  std::shared_ptr<TokenFile> file(new TokenFile(std::move(path), std::move(files), clock));
  file->looked_at_ = clock.monotonic();
  TM_TRY_VOID(file->look());
  return file;
}

Result<void> TokenFile::look() {
  // The stamp is taken before the content: a file that is replaced in between is seen at the next look.
  const auto stamp = files_.stamp(path_);
  if (stamp && stamp_ && *stamp == *stamp_) return {};
  auto text = files_.read(path_, kTokenBytesMax);
  if (!text) return base::fail(std::move(text).error().within("token"));
  const std::string_view token = base::trim(*text);
  if (token.empty()) return base::fail(ErrorKind::kInvalid, "token ", path_, ": the file is empty");
  if (auto checked = check_token(token); !checked) {
    return base::fail(std::move(checked).error().within("token " + path_));
  }
  token_ = token;
  stamp_ = stamp;
  ++reads_;
  return {};
}

std::string TokenFile::token() {
  const base::MonotonicTime now = clock_.monotonic();
  if (now - looked_at_ < kTokenLookInterval) return token_;
  looked_at_ = now;
  auto looked = look();
  problem_ = looked ? std::nullopt : std::optional(std::move(looked).error());
  return token_;
}

}  // namespace tidemark::kube
