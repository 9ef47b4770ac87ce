#include "hadoop/yarn_site.h"

#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"

namespace tidemark::hadoop {
namespace {

constexpr std::string_view kHostname = "yarn.resourcemanager.hostname";

struct Service {
  std::string_view key;
  std::uint16_t port;  // default
};
constexpr Service kClient{"yarn.resourcemanager.address", 8032};
constexpr Service kAdmin{"yarn.resourcemanager.admin.address", 8033};
constexpr Service kWeb{"yarn.resourcemanager.webapp.address", 8088};
constexpr Service kSecureWeb{"yarn.resourcemanager.webapp.https.address", 8090};
constexpr std::string_view kHttpPolicy = "yarn.http.policy";

constexpr std::uint16_t kTrackerPort = 8031;
constexpr std::string_view kEverywhere = "0.0.0.0";  // listens everywhere; not an address to call

constexpr std::string_view kLeastMemory = "yarn.scheduler.minimum-allocation-mb";
constexpr std::string_view kLeastVcores = "yarn.scheduler.minimum-allocation-vcores";

constexpr std::string_view kAuthentication = "hadoop.security.authentication";
constexpr std::string_view kProtection = "hadoop.rpc.protection";
constexpr std::string_view kPrincipal = "yarn.resourcemanager.principal";

Result<std::int32_t> amount_at(const Site& site, std::string_view name) {
  const std::string key(name);
  TM_TRY(const auto said, site.text(key));
  const auto number = base::parse_int(said.value_or(""));
  if (!number || *number < 0 || *number > std::numeric_limits<std::int32_t>::max()) {
    return fail(ErrorKind::kInvalid, site.place(key), ": ", key, " must be a number, found ",
                base::in_quotes(said.value_or("")));
  }
  return static_cast<std::int32_t>(*number);
}

Result<Resource> container_at(const Site& site, std::string_view memory, std::string_view vcores) {
  Resource container;
  TM_TRY(container.memory_mib, amount_at(site, memory));
  TM_TRY(container.vcores, amount_at(site, vcores));
  return container;
}

Result<Address> address_at(const Site& site, const std::string& key, std::uint16_t port) {
  TM_TRY(const auto said, site.text(key));
  auto address = parse_address(said.value_or(""), port);
  if (!address) return fail(std::move(address).error().within(base::cat(site.place(key), ": ", key)));
  return address;
}

Result<Address> address_of_member(const Site& site, const Service& service, const std::string& id) {
  const std::string key = base::cat(service.key, ".", id);
  TM_TRY(const auto said, site.text(key));
  if (said && !said->empty()) return address_at(site, key, service.port);
  const std::string host_key = base::cat(kHostname, ".", id);
  TM_TRY(const auto host, site.text(host_key));
  if (!host || host->empty()) {
    return fail(ErrorKind::kInvalid, "ResourceManager ", base::in_quotes(id), ": neither ", key, " nor ", host_key,
                " is set");
  }
  return address_at(site, host_key, service.port);
}

// Only the gateway needs it, so a missing or invalid one is not an error.
std::optional<net::Url> web_address(const Site& site, const std::string& id) {
  const auto policy = site.text(std::string(kHttpPolicy));
  const bool secure = policy && *policy && **policy == "HTTPS_ONLY";
  const Service& service = secure ? kSecureWeb : kWeb;
  auto address =
      id.empty() ? address_at(site, std::string(service.key), service.port) : address_of_member(site, service, id);
  if (!address) return std::nullopt;
  net::Url url;
  url.scheme = secure ? "https" : "http";
  url.host = std::move(address->host);
  url.port = address->port;
  return url;
}

}  // namespace

void set_yarn_defaults(Site& site) {
  site.set_default(std::string(kHostname), std::string(kEverywhere));
  for (const Service& service : {kClient, kAdmin, kWeb, kSecureWeb}) {
    site.set_default(std::string(service.key), base::cat("${", kHostname, "}:", service.port));
  }
  site.set_default(std::string(kLeastMemory), "1024");
  site.set_default(std::string(kLeastVcores), "1");
  site.set_default(std::string(kAuthentication), "simple");
  site.set_default(std::string(kProtection), "authentication");
}

Result<Resource> least_container(const Site& site) {
  return container_at(site, kLeastMemory, kLeastVcores);
}

Result<std::optional<Security>> security_of(const Site& site) {
  TM_TRY(const auto said, site.text(std::string(kAuthentication)));
  std::string how = said.value_or("");
  for (char& c : how) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');  // Hadoop takes either
  }
  if (how == "simple") return std::nullopt;
  if (how != "kerberos") {
    return fail(ErrorKind::kInvalid, site.place(std::string(kAuthentication)), ": ", kAuthentication,
                " must be simple or kerberos, found ", base::in_quotes(said.value_or("")));
  }
  Security security;
  TM_TRY(const auto principal, site.text(std::string(kPrincipal)));
  TM_TRY(const auto pattern, site.text(base::cat(kPrincipal, ".pattern")));
  security.server = {principal.value_or(""), pattern.value_or("")};
  if (security.server.principal.empty() && security.server.pattern.empty()) {
    return fail(ErrorKind::kInvalid, site.place(std::string(kAuthentication)), ": ", kAuthentication,
                " is kerberos, and ", kPrincipal, " is not set: give the server's principal, such as rm/_HOST@REALM");
  }
  TM_TRY(const std::vector<std::string> words, site.list(std::string(kProtection)));
  auto protections = parse_protections(words);
  if (!protections) {
    return fail(
        std::move(protections).error().within(base::cat(site.place(std::string(kProtection)), ": ", kProtection)));
  }
  security.protections = *std::move(protections);
  return security;
}

Result<Address> parse_address(std::string_view text, std::uint16_t port_otherwise) {
  const auto wrong = [&] {
    return fail(ErrorKind::kInvalid, "an address is HOST:PORT, found ", base::in_quotes(text));
  };
  std::string_view host = text;
  std::string_view port;
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return wrong();
  if (const std::size_t colon = text.find(':', bracket); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) return wrong();
  } else if (bracket > 0 && bracket + 1 != text.size()) {
    return wrong();
  }
  if (bracket > 0) {
    if (host.size() != bracket + 1) return wrong();
    host = host.substr(1, bracket - 1);
  }
  if (host.empty() || host.find_first_of(" \t/,") != std::string_view::npos) return wrong();
  Address out{std::string(host), port_otherwise};
  if (!port.empty()) {
    const auto number = base::parse_int(port);
    if (!number || *number < 1 || *number > std::numeric_limits<std::uint16_t>::max()) return wrong();
    out.port = static_cast<std::uint16_t>(*number);
  }
  return out;
}

Result<RmCluster> resource_managers(const Site& site) {
  RmCluster cluster;
  TM_TRY(const bool several, site.boolean("yarn.resourcemanager.ha.enabled", false));
  if (!several) {
    RmAddresses only;
    TM_TRY(only.client, address_at(site, std::string(kClient.key), kClient.port));
    TM_TRY(only.admin, address_at(site, std::string(kAdmin.key), kAdmin.port));
    only.web = web_address(site, only.id);
    cluster.members.push_back(std::move(only));
    return cluster;
  }
  const std::string ids_key = "yarn.resourcemanager.ha.rm-ids";
  TM_TRY(const std::vector<std::string> ids, site.list(ids_key));
  if (ids.empty()) {
    return fail(ErrorKind::kInvalid, "yarn.resourcemanager.ha.enabled is true, and ", ids_key, " names no one");
  }
  for (const std::string& id : ids) {
    RmAddresses member;
    member.id = id;
    TM_TRY(member.client, address_of_member(site, kClient, id));
    TM_TRY(member.admin, address_of_member(site, kAdmin, id));
    member.web = web_address(site, id);
    for (const RmAddresses& other : cluster.members) {
      if (other.id == id) return fail(ErrorKind::kInvalid, ids_key, " names ", base::in_quotes(id), " twice");
    }
    cluster.members.push_back(std::move(member));
  }
  return cluster;
}

Result<void> check_tracker(const Site& site) {
  TM_TRY(const bool several, site.boolean("yarn.resourcemanager.ha.enabled", false));
  const std::string address_key = "yarn.resourcemanager.resource-tracker.address";
  std::vector<std::string> suffixes{""};
  if (several) {
    TM_TRY(const std::vector<std::string> ids, site.list("yarn.resourcemanager.ha.rm-ids"));
    suffixes.clear();
    for (const std::string& id : ids) suffixes.push_back(base::cat(".", id));
  }
  for (const std::string& suffix : suffixes) {
    const std::string host_key = base::cat(kHostname, suffix);
    const std::string own_key = base::cat(address_key, suffix);
    TM_TRY(const auto host, site.text(host_key));
    TM_TRY(const auto own, site.text(own_key));
    if (own && !own->empty()) {
      TM_TRY_VOID(address_at(site, own_key, kTrackerPort));
    } else if (!host || host->empty() || *host == kEverywhere) {
      return fail(ErrorKind::kInvalid, "neither ", host_key, " nor ", own_key,
                  " is set: a NodeManager would have no address to register with");
    }
  }
  return {};
}

}  // namespace tidemark::hadoop
