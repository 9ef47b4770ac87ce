#include "policy/settings/rollout/revision.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "model/names.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::policy::settings {
namespace {

bool among(std::span<const std::string> hashes, std::string_view hash) {
  return std::ranges::find(hashes, hash) != hashes.end();
}

// Each text with its name and length before it, so that no two sets of texts run into one.
void add_text(base::TextHash& hash, std::string_view name, std::string_view text) {
  hash.add(base::cat(name, "=", text.size(), ":"));
  hash.add(text);
}

}  // namespace

std::string hash_of(const SettingsTexts& texts) {
  base::TextHash hash;
  for (const auto& [key, text] : texts.slo) add_text(hash, key, text);
  if (texts.tidemark) add_text(hash, model::kTidemarkConfigName, *texts.tidemark);
  return hash.hex();
}

bool only_switches_off(const SettingsTexts& from, const SettingsTexts& to) {
  const std::string key(model::kColocationConfigKey);
  SettingsTexts rest_from = from;
  SettingsTexts rest_to = to;
  rest_from.slo.erase(key);
  rest_to.slo.erase(key);
  if (rest_from != rest_to || !from.slo.contains(key) || !to.slo.contains(key)) return false;
  auto old_settings = Json::parse(from.slo.at(key));
  auto new_settings = Json::parse(to.slo.at(key));
  if (!old_settings || !new_settings || !old_settings->is_object() || !new_settings->is_object()) return false;
  const Json* was = old_settings->member("enable");
  const Json* is = new_settings->member("enable");
  if (was == nullptr || is == nullptr || was->get_bool() != true || is->get_bool() != false) return false;
  (*old_settings)["enable"] = Json(false);
  return *old_settings == *new_settings;
}

const StoredRevision* find_revision(const RevisionBook& book, std::string_view hash) {
  const auto found = std::ranges::find(book, hash, &StoredRevision::hash);
  return found == book.end() ? nullptr : &*found;
}

const StoredRevision* find_revision(const RevisionBook& book, std::int64_t number) {
  const auto found = std::ranges::find(book, number, &StoredRevision::number);
  return found == book.end() ? nullptr : &*found;
}

std::size_t stored_bytes(const StoredRevision& revision) {
  return revision_key(revision.number).size() + encode_revision(revision).size();
}

bool fits(const RevisionBook& book, const SettingsTexts& texts, std::span<const std::string> needed) {
  std::size_t bytes = stored_bytes({0, "", {}, false, texts});
  for (const auto& revision : book) {
    if (among(needed, revision.hash)) bytes += stored_bytes(revision);
  }
  return bytes <= kRevisionBytesMax;
}

RevisionBook with_revision(RevisionBook book, const SettingsTexts& texts, std::span<const std::string> needed,
                           base::WallTime now) {
  // With the precision of its stored form: a value that is read again equals the written one, so that it is not written
  // for ever.
  const base::WallTime taken{std::chrono::floor<std::chrono::milliseconds>(now.since_epoch)};
  StoredRevision newest{1, hash_of(texts), taken, false, texts};
  if (!book.empty()) newest.number = book.back().number + 1;
  if (const auto* same = find_revision(book, newest.hash)) {
    if (same == &book.back()) return book;
    newest.completed = same->completed;
    std::erase_if(book, [&](const StoredRevision& each) { return each.hash == newest.hash; });
  }
  if (stored_bytes(newest) > kRevisionBytesMax) return book;
  book.push_back(std::move(newest));

  const auto too_much = [&] {
    std::size_t bytes = 0;
    for (const auto& revision : book) bytes += stored_bytes(revision);
    return book.size() > kRevisionsMax || bytes > kRevisionBytesMax;
  };
  for (auto at = book.begin(); at != book.end() && std::next(at) != book.end() && too_much();) {
    at = among(needed, at->hash) ? std::next(at) : book.erase(at);
  }
  return book;
}

}  // namespace tidemark::policy::settings
