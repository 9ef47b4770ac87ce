// How a kind of object is addressed.
#pragma once

#include <string>
#include <string_view>

namespace tidemark::kube {

// One row for each kind we speak of. `plural` is the word in the path.
struct Resource {
  std::string_view group;  // "" is the core group
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool namespaced = false;
};

inline constexpr Resource kNodes{"", "v1", "nodes", "Node", false};
inline constexpr Resource kPods{"", "v1", "pods", "Pod", true};
inline constexpr Resource kJobs{"batch", "v1", "jobs", "Job", true};
inline constexpr Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap", true};
inline constexpr Resource kEvents{"", "v1", "events", "Event", true};
inline constexpr Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline constexpr Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
inline constexpr Resource kNodeMetrics{"slo.koordinator.sh", "v1alpha1", "nodemetrics", "NodeMetric", false};
inline constexpr Resource kNodeSlos{"slo.koordinator.sh", "v1alpha1", "nodeslos", "NodeSLO", false};
inline constexpr Resource kNodeResourceTopologies{"topology.node.k8s.io", "v1alpha1", "noderesourcetopologies",
                                                  "NodeResourceTopology", false};
inline constexpr Resource kSecrets{"", "v1", "secrets", "Secret", true};
inline constexpr Resource kPriorityClasses{"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false};
inline constexpr Resource kColocationProfiles{"config.koordinator.sh", "v1alpha1", "clustercolocationprofiles",
                                              "ClusterColocationProfile", false};
inline constexpr Resource kMutatingWebhooks{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
                                            "MutatingWebhookConfiguration", false};
inline constexpr Resource kValidatingWebhooks{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
                                              "ValidatingWebhookConfiguration", false};
inline constexpr Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount", true};
inline constexpr Resource kTokenReviews{"authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false};
inline constexpr Resource kSubjectAccessReviews{"authorization.k8s.io", "v1", "subjectaccessreviews",
                                                "SubjectAccessReview", false};
inline constexpr Resource kCustomResourceDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                                     "CustomResourceDefinition", false};

// "/api/v1/namespaces/default/pods/a/status"; name and subresource may be empty.
std::string resource_path(const Resource& resource, std::string_view ns, std::string_view name,
                          std::string_view subresource = "");

}  // namespace tidemark::kube
