#include "manager/webhook/webhook_certificates.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "kube/config.h"

namespace tidemark::manager {
namespace {

using base::cat;
using policy::admission::RotationStep;

constexpr base::Duration kSecretWriteLimit = std::chrono::seconds(10);
constexpr base::Duration kSeeOwnWrite = std::chrono::seconds(5);
constexpr base::Duration kSecretRetry = std::chrono::seconds(2);
constexpr base::Duration kFileLook = std::chrono::seconds(1);
constexpr base::Duration kSettle = std::chrono::minutes(1);
constexpr std::size_t kFileBytesMax = 1024 * 1024;
constexpr std::string_view kCommonName = "tidemark webhooks";

// Koordinator's.
constexpr std::string_view kAuthorityCertificate = "ca-cert.pem";
constexpr std::string_view kAuthorityKey = "ca-key.pem";
constexpr std::string_view kServingCertificates[] = {"cert.pem", "tls.crt"};
constexpr std::string_view kServingKeys[] = {"key.pem", "tls.key"};
// Ours.
constexpr std::string_view kNextCertificate = "tidemark-next-ca-cert.pem";
constexpr std::string_view kNextKey = "tidemark-next-ca-key.pem";
constexpr std::string_view kOldCertificate = "tidemark-old-ca-cert.pem";
// Since when the Secret has a next authority, or an old one beside the present one.
constexpr std::string_view kNextSince = "tidemark.io/next-ca-since";
constexpr std::string_view kOldSince = "tidemark.io/old-ca-since";

std::string value_of(const std::map<std::string, std::string>& map, std::string_view key) {
  const auto at = map.find(std::string(key));
  return at == map.end() ? std::string() : at->second;
}

std::optional<policy::admission::Validity> validity(std::string_view pem) {
  if (pem.empty()) return std::nullopt;
  const auto facts = net::read_certificate(pem);
  if (!facts) return std::nullopt;
  return policy::admission::Validity{facts->not_before, facts->not_after};
}

bool has_all(const std::vector<std::string>& there, const std::vector<std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
    return std::find(there.begin(), there.end(), name) != there.end();
  });
}

bool fits(const StoredCertificates& certificates, const CertificateOptions& options) {
  const auto facts = net::read_certificate(certificates.serving.certificate_pem);
  return facts && has_all(facts->dns_names, options.dns_names) && has_all(facts->ip_addresses, options.ip_addresses) &&
         net::check_certificate(certificates.serving, certificates.authority.certificate_pem).has_value();
}

Result<net::IssuedCertificate> issue(const net::CertificateAuthority& authority, const CertificateOptions& options,
                                     base::WallTime now) {
  net::CertificateRequest request;
  request.common_name = options.dns_names.empty() ? std::string(kCommonName) : options.dns_names.front();
  if (request.common_name.size() > 64) request.common_name = kCommonName;  // X.509's bound of that name
  request.dns_names = options.dns_names;
  request.ip_addresses = options.ip_addresses;
  request.lifetime = options.serving_lifetime;
  if (const auto facts = net::read_certificate(authority.certificate_pem)) {
    request.lifetime = std::min(request.lifetime, facts->not_after - now);
  }
  return net::issue_certificate(authority, request, now);
}

// Whether what it signs is signed by it: a key of another authority signs as well, and nothing under it ever fits.
bool signs(const net::CertificateAuthority& authority, const CertificateOptions& options, base::WallTime now) {
  const auto probe = issue(authority, options, now);
  return probe && net::check_certificate(*probe, authority.certificate_pem).has_value();
}

std::string_view name_of(RotationStep step) {
  switch (step) {
    case RotationStep::kNothing:
      return "nothing";
    case RotationStep::kMakeAll:
      return "a new authority and certificate";
    case RotationStep::kIssueServing:
      return "a new certificate";
    case RotationStep::kMakeNext:
      return "the next authority, trusted beside the present one";
    case RotationStep::kPromoteNext:
      return "the next authority signs from now on";
    case RotationStep::kDropOld:
      return "the old authority is trusted no more";
  }
  return "";
}

Json text_or_null(const std::optional<base::WallTime>& time) {
  return time ? Json(base::format_rfc3339(*time)) : Json(nullptr);
}

}  // namespace

std::string StoredCertificates::bundle() const {
  std::string out;
  for (const std::string* pem : {&authority.certificate_pem, &next.certificate_pem, &old_authority_pem}) {
    out += *pem;
    if (!out.empty() && !out.ends_with('\n')) out += '\n';
  }
  return out;
}

StoredCertificates read_certificates(const SecretObject& secret) {
  StoredCertificates out;
  out.authority = {value_of(secret.data, kAuthorityCertificate), value_of(secret.data, kAuthorityKey)};
  out.serving = {value_of(secret.data, kServingCertificates[0]), value_of(secret.data, kServingKeys[0])};
  out.next = {value_of(secret.data, kNextCertificate), value_of(secret.data, kNextKey)};
  out.next_since = base::parse_rfc3339(value_of(secret.annotations, kNextSince));
  out.old_authority_pem = value_of(secret.data, kOldCertificate);
  out.old_since = base::parse_rfc3339(value_of(secret.annotations, kOldSince));
  return out;
}

Json secret_of(const StoredCertificates& certificates) {
  Json data = Json::object();
  const auto put = [&](std::string_view key, const std::string& value) {
    data[key] = value.empty() ? Json(nullptr) : Json(base::base64_encode(value));
  };
  put(kAuthorityCertificate, certificates.authority.certificate_pem);
  put(kAuthorityKey, certificates.authority.key_pem);
  for (const auto key : kServingCertificates) put(key, certificates.serving.certificate_pem);
  for (const auto key : kServingKeys) put(key, certificates.serving.key_pem);
  put(kNextCertificate, certificates.next.certificate_pem);
  put(kNextKey, certificates.next.key_pem);
  put(kOldCertificate, certificates.old_authority_pem);
  Json annotations = Json::object(
      {{kNextSince, text_or_null(certificates.next_since)}, {kOldSince, text_or_null(certificates.old_since)}});
  return Json::object(
      {{"metadata", Json::object({{"annotations", std::move(annotations)}})}, {"data", std::move(data)}});
}

policy::admission::RotationFacts rotation_facts(const StoredCertificates& certificates,
                                                const CertificateOptions& options,
                                                const std::function<bool(std::string_view pem)>& trusted) {
  policy::admission::RotationFacts facts;
  facts.ca = validity(certificates.authority.certificate_pem);
  if (facts.ca && !signs(certificates.authority, options, facts.ca->from)) facts.ca.reset();
  facts.serving = validity(certificates.serving.certificate_pem);
  facts.serving_fits = fits(certificates, options);
  facts.next_ca = validity(certificates.next.certificate_pem);
  if (facts.next_ca && !signs(certificates.next, options, facts.next_ca->from)) facts.next_ca.reset();
  facts.next_since = certificates.next_since;
  facts.next_trusted = facts.next_ca && trusted(certificates.next.certificate_pem);
  facts.old_ca = !certificates.old_authority_pem.empty();
  facts.old_since = certificates.old_since;
  return facts;
}

Result<StoredCertificates> rotate(StoredCertificates certificates, RotationStep step, const CertificateOptions& options,
                                  base::WallTime now) {
  const auto make = [&] {
    return net::make_certificate_authority(cat(kCommonName, " ", base::format_rfc3339(now)), now,
                                           options.authority_lifetime);
  };
  // The steps that change who signs, then those that need a new certificate.
  if (step == RotationStep::kMakeAll) {
    certificates = {};
    TM_TRY(certificates.authority, make());
  } else if (step == RotationStep::kMakeNext) {
    TM_TRY(certificates.next, make());
    certificates.next_since = now;
  } else if (step == RotationStep::kPromoteNext) {
    certificates.old_authority_pem = std::move(certificates.authority.certificate_pem);
    certificates.old_since = now;
    certificates.authority = std::exchange(certificates.next, {});
    certificates.next_since.reset();
  } else if (step == RotationStep::kDropOld) {
    certificates.old_authority_pem.clear();
    certificates.old_since.reset();
  }
  if (step == RotationStep::kMakeAll || step == RotationStep::kIssueServing || step == RotationStep::kPromoteNext) {
    TM_TRY(certificates.serving, issue(certificates.authority, options, now));
  }
  return certificates;
}

base::Duration StepsInARow::rest_after_another() {
  constexpr int kFree = 3;  // an authority, its certificate, and the old one that goes
  constexpr base::Duration kFirst = std::chrono::seconds(2);
  constexpr base::Duration kLongest = std::chrono::minutes(10);
  if (++steps_ <= kFree) return base::Duration(0);
  rest_ = std::min(kLongest, std::max(kFirst, 2 * rest_));
  return rest_;
}

WebhookCertificates::WebhookCertificates(const Shared& shared, base::Random random, CertificateOptions options,
                                         Context context)
    : loop_(shared.loop),
      writer_(shared.writer),
      log_(shared.log),
      options_(std::move(options)),
      context_(std::move(context)),
      expires_(shared.metrics.gauge("tidemark_webhook_certificate_expires_seconds",
                                    "When the serving certificate of the webhooks ends, in seconds of Unix time.")),
      steps_failed_(shared.metrics.counter("tidemark_webhook_certificate_failures_total",
                                           "Certificates of the webhooks that could not be made, stored or read.")),
      changed_(shared.loop),
      scope_(shared.loop) {
  if (from_files()) return;
  kube::InformerConfig config;
  config.resource = kube::kSecrets;
  config.ns = options_.secret_namespace;
  config.field_selector = cat("metadata.name=", options_.secret_name);
  secrets_ = std::make_unique<kube::Informer<SecretObject>>(
      kube::InformerParts{shared.loop, shared.reader, shared.watcher, log_, shared.metrics, random}, std::move(config),
      decode_secret);
  secrets_->subscribe([this](const kube::ObjectKey&, const SecretObject*, const SecretObject* after) { take(after); });
}

std::string WebhookCertificates::file(std::string_view name) const {
  return cat(options_.folder, options_.folder.ends_with('/') ? "" : "/", name);
}

Result<net::TlsServerConfig> WebhookCertificates::first() {
  net::TlsServerConfig config;
  if (from_files()) {
    config.certificate.file = file("tls.crt");
    config.key.file = file("tls.key");
    return config;
  }
  const auto now = loop_.clock().wall();
  TM_TRY(const auto made, rotate({}, RotationStep::kMakeAll, options_, now));
  config.certificate.text = made.serving.certificate_pem;
  config.key.text = made.serving.key_pem;
  return config;
}

void WebhookCertificates::start() {
  if (from_files()) {
    scope_.spawn(follow_files());
  } else {
    scope_.spawn(secrets_->run());
    scope_.spawn(keep_secret());
  }
}

std::optional<std::string> WebhookCertificates::bundle() const {
  if (from_files()) return file_bundle_;
  std::string text = certificates_.bundle();
  if (text.empty()) return std::nullopt;
  return text;
}

void WebhookCertificates::take(const SecretObject* secret) {
  const std::string before = certificates_.bundle();
  const std::string shown = certificates_.serving.certificate_pem;
  certificates_ = secret == nullptr ? StoredCertificates() : read_certificates(*secret);
  const bool usable = !certificates_.serving.certificate_pem.empty() && fits(certificates_, options_);
  if (usable && certificates_.serving.certificate_pem != shown) {
    context_.use(certificates_.serving);
    have_serving_ = true;
    if (const auto until = validity(certificates_.serving.certificate_pem)) {
      expires_.set(std::chrono::duration<double>(until->until.since_epoch).count());
      log_.info("another certificate serves the webhooks", {{"until", base::format_rfc3339(until->until)}});
    }
  }
  if (certificates_.bundle() != before) context_.on_bundle();
  changed_.set();
}

net::Task<void> WebhookCertificates::keep_secret() {
  while (!co_await secrets_->wait_synced(std::chrono::minutes(1))) {
    log_.warn("waiting for the Secret of the webhooks' certificates", {{"secret", options_.secret_name}});
  }
  const policy::admission::RotationConfig config{std::min<base::Duration>(kSettle, options_.authority_lifetime / 12)};
  StepsInARow steps;
  while (true) {
    base::Duration pause = std::chrono::hours(1);
    base::Duration rest{0};
    if (context_.leading()) {
      const auto now = loop_.clock().wall();
      const auto plan =
          policy::admission::next_rotation(rotation_facts(certificates_, options_, context_.trusted), config, now);
      pause = plan.again_after;
      if (plan.step == RotationStep::kNothing) {
        steps.settled();
      } else {
        pause = kSecretRetry;
        const auto* there = secrets_->find({options_.secret_namespace, options_.secret_name});
        std::string revision = there == nullptr ? "" : there->meta.resource_version;
        auto made = rotate(certificates_, plan.step, options_, now);
        Result<void> stored;
        if (made) {
          stored = co_await store(*made, std::move(revision));
        } else {
          stored = std::unexpected(std::move(made).error());
        }
        if (stored) {
          log_.info("the webhooks' certificates were renewed", {{"what", name_of(plan.step)}});
          pause = base::Duration(0);
          rest = steps.rest_after_another();
          if (rest > base::Duration(0)) {
            log_.error("the webhooks' certificates stay invalid although they are renewed again and again",
                       {{"what", name_of(plan.step)},
                        {"secret", options_.secret_name},
                        {"resting_s", rest.count() / 1'000'000'000}});
          }
        } else if (stored.error().kind != ErrorKind::kConflict && stored.error().kind != ErrorKind::kAlreadyExists) {
          steps_failed_.add();
          log_.error("cannot renew the webhooks' certificates; retrying",
                     {{"what", name_of(plan.step)}, {"secret", options_.secret_name}, {"error", stored.error()}});
        }
      }
    }
    changed_.clear();
    if (rest > base::Duration(0)) co_await loop_.sleep(rest);  // our own write is a change: that must not wake us
    if (pause > base::Duration(0)) co_await changed_.wait_for(pause);
  }
}

net::Task<Result<void>> WebhookCertificates::store(const StoredCertificates& certificates,
                                                   std::string resource_version) {
  Json object = secret_of(certificates);
  kube::WriteOptions options;
  options.ns = options_.secret_namespace;
  Result<std::string> written;
  if (resource_version.empty()) {
    object["apiVersion"] = "v1";
    object["kind"] = "Secret";
    object["type"] = "Opaque";
    object["metadata"]["name"] = Json(options_.secret_name);
    for (const auto key : {"data"}) {
      Json kept = Json::object();
      for (const auto& [name, value] : object.at(key)->as_object()) {
        if (!value.is_null()) kept[name] = value;
      }
      object[key] = std::move(kept);
    }
    object["metadata"].as_object().erase("annotations");
    written = co_await writer_.create(kube::kSecrets, object.dump(), options, "", kSecretWriteLimit);
  } else {
    object["metadata"]["resourceVersion"] = Json(resource_version);
    written = co_await writer_.patch(kube::kSecrets, options_.secret_name, kube::PatchType::kMerge, object.dump(),
                                     options, kSecretWriteLimit);
  }
  if (!written) co_return std::unexpected(std::move(written).error());
  // The next step is decided on what the cache says: wait until it has heard of this one.
  const auto end = loop_.clock().monotonic() + kSeeOwnWrite;
  while (loop_.clock().monotonic() < end) {
    const auto* there = secrets_->find({options_.secret_namespace, options_.secret_name});
    if (there != nullptr && there->meta.resource_version != resource_version) break;
    changed_.clear();
    co_await changed_.wait_for(end - loop_.clock().monotonic());
  }
  co_return Result<void>();
}

net::Task<void> WebhookCertificates::follow_files() {
  // The server itself looks at tls.crt and tls.key; here it is about whom to trust.
  const kube::Files files = kube::system_files();
  bool told = false;
  std::string shown;
  while (true) {
    auto authority = files.read(file("ca.crt"), kFileBytesMax);
    std::optional<std::string> bundle;
    if (authority) {
      bundle = std::move(*authority);
    } else if (authority.error().kind != ErrorKind::kNotFound && !told) {
      told = true;
      steps_failed_.add();
      log_.error("cannot read ca.crt; the bundle stays unchanged", {{"error", authority.error()}});
    }
    if (bundle && *bundle != file_bundle_) {
      file_bundle_ = std::move(bundle);
      told = false;
      context_.on_bundle();
    }
    auto certificate = files.read(file("tls.crt"), kFileBytesMax);
    std::string text = certificate ? std::move(*certificate) : std::string();
    if (text != shown) {
      shown = std::move(text);
      if (const auto read = net::read_certificate(shown)) {
        expires_.set(std::chrono::duration<double>(read->not_after.since_epoch).count());
        log_.info("a certificate from files serves the webhooks", {{"until", base::format_rfc3339(read->not_after)}});
      } else {
        steps_failed_.add();
        log_.error("cannot use tls.crt; the previous certificate stays in use",
                   {{"file", file("tls.crt")}, {"error", certificate ? read.error() : certificate.error()}});
      }
    }
    if (!have_serving_) {
      have_serving_ = true;
      context_.on_bundle();
    }
    co_await loop_.sleep(kFileLook);
  }
}

}  // namespace tidemark::manager
