// JSON patch, RFC 6902, with the habits of the library inside kube-apiserver where it leaves the RFC:
//   replace of a member that is not there adds it            test of an absent member against null passes
//   a negative array index counts from the end               copy from an absent member copies null
//   the root can be replaced and tested, not added or removed
// Operations apply in order to `target`; after an error its contents are not to be used.
#pragma once

#include "base/json.h"
#include "kube/memory/api_error.h"

namespace tidemark::kube::memory {

inline constexpr std::size_t kJsonPatchOperationsMax = 10'000;
// Members and elements that all operations together may pass on their way: 10,000 operations on an object of 5,000.
inline constexpr std::size_t kJsonPatchStepsMax = 50'000'000;
inline constexpr std::size_t kJsonPatchCopyBytesMax = 3 * 1024 * 1024;  // what all "copy" together may add

// A malformed patch is 400, too many operations 413, one that does not apply 422.
Answer<void> apply_json_patch(Json& target, const Json& patch);

}  // namespace tidemark::kube::memory
