// Written by protobuf_fields_generate.py; do not edit.
#include "kube/memory/protobuf.h"

namespace tidemark::kube::memory {

const char* const kProtobufLines[] = {
    "AWSElasticBlockStoreVolumeSource 1:volumeID 2:fsType 3:partition 4:readOnly",
    "Affinity 1:nodeAffinity* 2:podAffinity* 3:podAntiAffinity*",
    "AggregationRule 1:clusterRoleSelectors",
    "AppArmorProfile 1:type 2:localhostProfile*",
    "AttachedVolume 1:name 2:devicePath",
    "AzureDiskVolumeSource 1:diskName 2:diskURI 3:cachingMode* 4:fsType* 5:readOnly* 6:kind*",
    "AzureFilePersistentVolumeSource 1:secretName 2:shareName 3:readOnly 4:secretNamespace*",
    "AzureFileVolumeSource 1:secretName 2:shareName 3:readOnly",
    "Binding 1:metadata 2:target",
    "CSIPersistentVolumeSource 1:driver 2:volumeHandle 3:readOnly 4:fsType 5:volumeAttributes "
    "6:controllerPublishSecretRef* 7:nodeStageSecretRef* 8:nodePublishSecretRef* 9:controllerExpandSecretRef* "
    "10:nodeExpandSecretRef*",
    "CSIVolumeSource 1:driver 2:readOnly* 3:fsType* 4:volumeAttributes 5:nodePublishSecretRef*",
    "Capabilities 1:add 2:drop",
    "CephFSPersistentVolumeSource 1:monitors 2:path 3:user 4:secretFile 5:secretRef* 6:readOnly",
    "CephFSVolumeSource 1:monitors 2:path 3:user 4:secretFile 5:secretRef* 6:readOnly",
    "CinderPersistentVolumeSource 1:volumeID 2:fsType 3:readOnly 4:secretRef*",
    "CinderVolumeSource 1:volumeID 2:fsType 3:readOnly 4:secretRef*",
    "ClientIPConfig 1:timeoutSeconds*",
    "ClusterRole 1:metadata 2:rules 3:aggregationRule*",
    "ClusterRoleBinding 1:metadata 2:subjects 3:roleRef",
    "ClusterTrustBundleProjection 1:name* 2:signerName* 3:labelSelector* 5:optional* 4:path",
    "Condition 1:type 2:status 3:observedGeneration 4:lastTransitionTime 5:reason 6:message",
    "ConfigMap 1:metadata 4:immutable* 2:data 3:binaryData",
    "ConfigMapEnvSource 1:~LocalObjectReference 2:optional*",
    "ConfigMapKeySelector 1:~LocalObjectReference 2:key 3:optional*",
    "ConfigMapNodeConfigSource 1:namespace 2:name 3:uid 4:resourceVersion 5:kubeletConfigKey",
    "ConfigMapProjection 1:~LocalObjectReference 2:items 4:optional*",
    "ConfigMapVolumeSource 1:~LocalObjectReference 2:items 3:defaultMode* 4:optional*",
    "Container 1:name 2:image 3:command 4:args 5:workingDir 6:ports 19:envFrom 7:env 8:resources "
    "23:resizePolicy 24:restartPolicy* 25:restartPolicyRules 9:volumeMounts 21:volumeDevices 10:livenessProbe* "
    "11:readinessProbe* 22:startupProbe* 12:lifecycle* 13:terminationMessagePath 20:terminationMessagePolicy "
    "14:imagePullPolicy 15:securityContext* 16:stdin 17:stdinOnce 18:tty",
    "ContainerExtendedResourceRequest 1:containerName 2:resourceName 3:requestName",
    "ContainerImage 1:names 2:sizeBytes",
    "ContainerPort 1:name 2:hostPort 3:containerPort 4:protocol 5:hostIP",
    "ContainerResizePolicy 1:resourceName 2:restartPolicy",
    "ContainerRestartRule 1:action 2:exitCodes*",
    "ContainerRestartRuleOnExitCodes 1:operator 2:values",
    "ContainerState 1:waiting* 2:running* 3:terminated*",
    "ContainerStateRunning 1:startedAt",
    "ContainerStateTerminated 1:exitCode 2:signal 3:reason 4:message 5:startedAt 6:finishedAt 7:containerID",
    "ContainerStateWaiting 1:reason 2:message",
    "ContainerStatus 1:name 2:state 3:lastState 4:ready 5:restartCount 6:image 7:imageID 8:containerID "
    "9:started* 10:allocatedResources 11:resources* 12:volumeMounts 13:user* 14:allocatedResourcesStatus "
    "15:stopSignal*",
    "ContainerUser 1:linux*",
    "CronJob 1:metadata 2:spec 3:status",
    "CronJobSpec 1:schedule 8:timeZone* 2:startingDeadlineSeconds* 3:concurrencyPolicy 4:suspend* "
    "5:jobTemplate 6:successfulJobsHistoryLimit* 7:failedJobsHistoryLimit*",
    "CronJobStatus 1:active 4:lastScheduleTime* 5:lastSuccessfulTime*",
    "DaemonEndpoint 1:Port",
    "DaemonSet 1:metadata 2:spec 3:status",
    "DaemonSetCondition 1:type 2:status 3:lastTransitionTime 4:reason 5:message",
    "DaemonSetSpec 1:selector* 2:template 3:updateStrategy 4:minReadySeconds 6:revisionHistoryLimit*",
    "DaemonSetStatus 1:currentNumberScheduled 2:numberMisscheduled 3:desiredNumberScheduled 4:numberReady "
    "5:observedGeneration 6:updatedNumberScheduled 7:numberAvailable 8:numberUnavailable 9:collisionCount* "
    "10:conditions",
    "DaemonSetUpdateStrategy 1:type 2:rollingUpdate*",
    "DeleteOptions 1:gracePeriodSeconds* 2:preconditions* 3:orphanDependents* 4:propagationPolicy* 5:dryRun "
    "6:ignoreStoreReadErrorWithClusterBreakingPotential*",
    "Deployment 1:metadata 2:spec 3:status",
    "DeploymentCondition 1:type 2:status 6:lastUpdateTime 7:lastTransitionTime 4:reason 5:message",
    "DeploymentSpec 1:replicas* 2:selector* 3:template 4:strategy 5:minReadySeconds 6:revisionHistoryLimit* "
    "7:paused 9:progressDeadlineSeconds*",
    "DeploymentStatus 1:observedGeneration 2:replicas 3:updatedReplicas 7:readyReplicas 4:availableReplicas "
    "5:unavailableReplicas 9:terminatingReplicas* 6:conditions 8:collisionCount*",
    "DeploymentStrategy 1:type 2:rollingUpdate*",
    "DownwardAPIProjection 1:items",
    "DownwardAPIVolumeFile 1:path 2:fieldRef* 3:resourceFieldRef* 4:mode*",
    "DownwardAPIVolumeSource 1:items 2:defaultMode*",
    "EmptyDirVolumeSource 1:medium 2:sizeLimit*",
    "EndpointAddress 1:ip 3:hostname 4:nodeName* 2:targetRef*",
    "EndpointPort 1:name 2:port 3:protocol 4:appProtocol*",
    "EndpointSubset 1:addresses 2:notReadyAddresses 3:ports",
    "Endpoints 1:metadata 2:subsets",
    "EnvFromSource 1:prefix 2:configMapRef* 3:secretRef*",
    "EnvVar 1:name 2:value 3:valueFrom*",
    "EnvVarSource 1:fieldRef* 2:resourceFieldRef* 3:configMapKeyRef* 4:secretKeyRef* 5:fileKeyRef*",
    "EphemeralContainer 1:~EphemeralContainerCommon 2:targetContainerName",
    "EphemeralContainerCommon 1:name 2:image 3:command 4:args 5:workingDir 6:ports 19:envFrom 7:env "
    "8:resources 23:resizePolicy 24:restartPolicy* 25:restartPolicyRules 9:volumeMounts 21:volumeDevices "
    "10:livenessProbe* 11:readinessProbe* 22:startupProbe* 12:lifecycle* 13:terminationMessagePath "
    "20:terminationMessagePolicy 14:imagePullPolicy 15:securityContext* 16:stdin 17:stdinOnce 18:tty",
    "EphemeralVolumeSource 1:volumeClaimTemplate*",
    "Event 1:metadata 2:involvedObject 3:reason 4:message 5:source 6:firstTimestamp 7:lastTimestamp 8:count "
    "9:type 10:eventTime 11:series* 12:action 13:related* 14:reportingComponent 15:reportingInstance",
    "EventSeries 1:count 2:lastObservedTime",
    "EventSource 1:component 2:host",
    "Eviction 1:metadata 2:deleteOptions*",
    "ExecAction 1:command",
    "FCVolumeSource 1:targetWWNs 2:lun* 3:fsType 4:readOnly 5:wwids",
    "FileKeySelector 1:volumeName 2:path 3:key 4:optional*",
    "FlexPersistentVolumeSource 1:driver 2:fsType 3:secretRef* 4:readOnly 5:options",
    "FlexVolumeSource 1:driver 2:fsType 3:secretRef* 4:readOnly 5:options",
    "FlockerVolumeSource 1:datasetName 2:datasetUUID",
    "GCEPersistentDiskVolumeSource 1:pdName 2:fsType 3:partition 4:readOnly",
    "GRPCAction 1:port 2:service*",
    "GitRepoVolumeSource 1:repository 2:revision 3:directory",
    "GlusterfsPersistentVolumeSource 1:endpoints 2:path 3:readOnly 4:endpointsNamespace*",
    "GlusterfsVolumeSource 1:endpoints 2:path 3:readOnly",
    "HTTPGetAction 1:path 2:port 3:host 4:scheme 5:httpHeaders",
    "HTTPHeader 1:name 2:value",
    "HostAlias 1:ip 2:hostnames",
    "HostIP 1:ip",
    "HostPathVolumeSource 1:path 2:type*",
    "ISCSIPersistentVolumeSource 1:targetPortal 2:iqn 3:lun 4:iscsiInterface 5:fsType 6:readOnly 7:portals "
    "8:chapAuthDiscovery 11:chapAuthSession 10:secretRef* 12:initiatorName*",
    "ISCSIVolumeSource 1:targetPortal 2:iqn 3:lun 4:iscsiInterface 5:fsType 6:readOnly 7:portals "
    "8:chapAuthDiscovery 11:chapAuthSession 10:secretRef* 12:initiatorName*",
    "ImageVolumeSource 1:reference 2:pullPolicy",
    "Job 1:metadata 2:spec 3:status",
    "JobCondition 1:type 2:status 3:lastProbeTime 4:lastTransitionTime 5:reason 6:message",
    "JobSpec 1:parallelism* 2:completions* 3:activeDeadlineSeconds* 11:podFailurePolicy* 16:successPolicy* "
    "7:backoffLimit* 12:backoffLimitPerIndex* 13:maxFailedIndexes* 4:selector* 5:manualSelector* 6:template "
    "8:ttlSecondsAfterFinished* 9:completionMode* 10:suspend* 14:podReplacementPolicy* 15:managedBy*",
    "JobStatus 1:conditions 2:startTime* 3:completionTime* 4:active 5:succeeded 6:failed 11:terminating* "
    "7:completedIndexes 10:failedIndexes* 8:uncountedTerminatedPods* 9:ready*",
    "JobTemplateSpec 1:metadata 2:spec",
    "KeyToPath 1:key 2:path 3:mode*",
    "LabelSelector 1:matchLabels 2:matchExpressions",
    "LabelSelectorRequirement 1:key 2:operator 3:values",
    "Lease 1:metadata 2:spec",
    "LeaseSpec 1:holderIdentity* 2:leaseDurationSeconds* 3:acquireTime* 4:renewTime* 5:leaseTransitions* "
    "6:strategy* 7:preferredHolder*",
    "Lifecycle 1:postStart* 2:preStop* 3:stopSignal*",
    "LifecycleHandler 1:exec* 2:httpGet* 3:tcpSocket* 4:sleep*",
    "LimitRange 1:metadata 2:spec",
    "LimitRangeItem 1:type 2:max 3:min 4:default 5:defaultRequest 6:maxLimitRequestRatio",
    "LimitRangeSpec 1:limits",
    "LinuxContainerUser 1:uid 2:gid 3:supplementalGroups",
    "LoadBalancerIngress 1:ip 2:hostname 3:ipMode* 4:ports",
    "LoadBalancerStatus 1:ingress",
    "LocalObjectReference 1:name",
    "LocalVolumeSource 1:path 2:fsType*",
    "ManagedFieldsEntry 1:manager 2:operation 3:apiVersion 4:time* 6:fieldsType 7:fieldsV1* 8:subresource",
    "ModifyVolumeStatus 1:targetVolumeAttributesClassName 2:status",
    "NFSVolumeSource 1:server 2:path 3:readOnly",
    "Namespace 1:metadata 2:spec 3:status",
    "NamespaceCondition 1:type 2:status 4:lastTransitionTime 5:reason 6:message",
    "NamespaceSpec 1:finalizers",
    "NamespaceStatus 1:phase 2:conditions",
    "Node 1:metadata 2:spec 3:status",
    "NodeAddress 1:type 2:address",
    "NodeAffinity 1:requiredDuringSchedulingIgnoredDuringExecution* "
    "2:preferredDuringSchedulingIgnoredDuringExecution",
    "NodeCondition 1:type 2:status 3:lastHeartbeatTime 4:lastTransitionTime 5:reason 6:message",
    "NodeConfigSource 2:configMap*",
    "NodeConfigStatus 1:assigned* 2:active* 3:lastKnownGood* 4:error",
    "NodeDaemonEndpoints 1:kubeletEndpoint",
    "NodeFeatures 1:supplementalGroupsPolicy*",
    "NodeRuntimeHandler 1:name 2:features*",
    "NodeRuntimeHandlerFeatures 1:recursiveReadOnlyMounts* 2:userNamespaces*",
    "NodeSelector 1:nodeSelectorTerms",
    "NodeSelectorRequirement 1:key 2:operator 3:values",
    "NodeSelectorTerm 1:matchExpressions 2:matchFields",
    "NodeSpec 1:podCIDR 7:podCIDRs 3:providerID 4:unschedulable 5:taints 6:configSource* 2:externalID",
    "NodeStatus 1:capacity 2:allocatable 3:phase 4:conditions 5:addresses 6:daemonEndpoints 7:nodeInfo "
    "8:images 9:volumesInUse 10:volumesAttached 11:config* 12:runtimeHandlers 13:features*",
    "NodeSwapStatus 1:capacity*",
    "NodeSystemInfo 1:machineID 2:systemUUID 3:bootID 4:kernelVersion 5:osImage 6:containerRuntimeVersion "
    "7:kubeletVersion 8:kubeProxyVersion 9:operatingSystem 10:architecture 11:swap*",
    "ObjectFieldSelector 1:apiVersion 2:fieldPath",
    "ObjectMeta 1:name 2:generateName 3:namespace 4:selfLink 5:uid 6:resourceVersion 7:generation "
    "8:creationTimestamp 9:deletionTimestamp* 10:deletionGracePeriodSeconds* 11:labels 12:annotations "
    "13:ownerReferences 14:finalizers 17:managedFields",
    "ObjectReference 1:kind 2:namespace 3:name 4:uid 5:apiVersion 6:resourceVersion 7:fieldPath",
    "OwnerReference 5:apiVersion 1:kind 3:name 4:uid 6:controller* 7:blockOwnerDeletion*",
    "PersistentVolume 1:metadata 2:spec 3:status",
    "PersistentVolumeClaim 1:metadata 2:spec 3:status",
    "PersistentVolumeClaimCondition 1:type 2:status 3:lastProbeTime 4:lastTransitionTime 5:reason 6:message",
    "PersistentVolumeClaimSpec 1:accessModes 4:selector* 2:resources 3:volumeName 5:storageClassName* "
    "6:volumeMode* 7:dataSource* 8:dataSourceRef* 9:volumeAttributesClassName*",
    "PersistentVolumeClaimStatus 1:phase 2:accessModes 3:capacity 4:conditions 5:allocatedResources "
    "7:allocatedResourceStatuses 8:currentVolumeAttributesClassName* 9:modifyVolumeStatus*",
    "PersistentVolumeClaimTemplate 1:metadata 2:spec",
    "PersistentVolumeClaimVolumeSource 1:claimName 2:readOnly",
    "PersistentVolumeSource 1:gcePersistentDisk* 2:awsElasticBlockStore* 3:hostPath* 4:glusterfs* 5:nfs* "
    "6:rbd* 7:iscsi* 8:cinder* 9:cephfs* 10:fc* 11:flocker* 12:flexVolume* 13:azureFile* 14:vsphereVolume* "
    "15:quobyte* 16:azureDisk* 17:photonPersistentDisk* 18:portworxVolume* 19:scaleIO* 20:local* 21:storageos* "
    "22:csi*",
    "PersistentVolumeSpec 1:capacity 2:~PersistentVolumeSource 3:accessModes 4:claimRef* "
    "5:persistentVolumeReclaimPolicy 6:storageClassName 7:mountOptions 8:volumeMode* 9:nodeAffinity* "
    "10:volumeAttributesClassName*",
    "PersistentVolumeStatus 1:phase 2:message 3:reason 4:lastPhaseTransitionTime*",
    "PhotonPersistentDiskVolumeSource 1:pdID 2:fsType",
    "Pod 1:metadata 2:spec 3:status",
    "PodAffinity 1:requiredDuringSchedulingIgnoredDuringExecution "
    "2:preferredDuringSchedulingIgnoredDuringExecution",
    "PodAffinityTerm 1:labelSelector* 2:namespaces 3:topologyKey 4:namespaceSelector* 5:matchLabelKeys "
    "6:mismatchLabelKeys",
    "PodAntiAffinity 1:requiredDuringSchedulingIgnoredDuringExecution "
    "2:preferredDuringSchedulingIgnoredDuringExecution",
    "PodCertificateProjection 1:signerName 2:keyType 3:maxExpirationSeconds* 4:credentialBundlePath 5:keyPath "
    "6:certificateChainPath",
    "PodCondition 1:type 7:observedGeneration 2:status 3:lastProbeTime 4:lastTransitionTime 5:reason 6:message",
    "PodDNSConfig 1:nameservers 2:searches 3:options",
    "PodDNSConfigOption 1:name 2:value*",
    "PodDisruptionBudget 1:metadata 2:spec 3:status",
    "PodDisruptionBudgetSpec 1:minAvailable* 2:selector* 3:maxUnavailable* 4:unhealthyPodEvictionPolicy*",
    "PodDisruptionBudgetStatus 1:observedGeneration 2:disruptedPods 3:disruptionsAllowed 4:currentHealthy "
    "5:desiredHealthy 6:expectedPods 7:conditions",
    "PodExtendedResourceClaimStatus 1:requestMappings 2:resourceClaimName",
    "PodFailurePolicy 1:rules",
    "PodFailurePolicyOnExitCodesRequirement 1:containerName* 2:operator 3:values",
    "PodFailurePolicyOnPodConditionsPattern 1:type 2:status",
    "PodFailurePolicyRule 1:action 2:onExitCodes* 3:onPodConditions",
    "PodIP 1:ip",
    "PodOS 1:name",
    "PodReadinessGate 1:conditionType",
    "PodResourceClaim 1:name 3:resourceClaimName* 4:resourceClaimTemplateName*",
    "PodResourceClaimStatus 1:name 2:resourceClaimName*",
    "PodSchedulingGate 1:name",
    "PodSecurityContext 1:seLinuxOptions* 8:windowsOptions* 2:runAsUser* 6:runAsGroup* 3:runAsNonRoot* "
    "4:supplementalGroups 12:supplementalGroupsPolicy* 5:fsGroup* 7:sysctls 9:fsGroupChangePolicy* "
    "10:seccompProfile* 11:appArmorProfile* 13:seLinuxChangePolicy*",
    "PodSpec 1:volumes 20:initContainers 2:containers 34:ephemeralContainers 3:restartPolicy "
    "4:terminationGracePeriodSeconds* 5:activeDeadlineSeconds* 6:dnsPolicy 7:nodeSelector 8:serviceAccountName "
    "9:serviceAccount 21:automountServiceAccountToken* 10:nodeName 11:hostNetwork 12:hostPID 13:hostIPC "
    "27:shareProcessNamespace* 14:securityContext* 15:imagePullSecrets 16:hostname 17:subdomain 18:affinity* "
    "19:schedulerName 22:tolerations 23:hostAliases 24:priorityClassName 25:priority* 26:dnsConfig* "
    "28:readinessGates 29:runtimeClassName* 30:enableServiceLinks* 31:preemptionPolicy* 32:overhead "
    "33:topologySpreadConstraints 35:setHostnameAsFQDN* 36:os* 37:hostUsers* 38:schedulingGates "
    "39:resourceClaims 40:resources* 41:hostnameOverride*",
    "PodStatus 17:observedGeneration 1:phase 2:conditions 3:message 4:reason 11:nominatedNodeName 5:hostIP "
    "16:hostIPs 6:podIP 12:podIPs 7:startTime* 10:initContainerStatuses 8:containerStatuses 9:qosClass "
    "13:ephemeralContainerStatuses 14:resize 15:resourceClaimStatuses 18:extendedResourceClaimStatus*",
    "PodTemplate 1:metadata 2:template",
    "PodTemplateSpec 1:metadata 2:spec",
    "PolicyRule 1:verbs 2:apiGroups 3:resources 4:resourceNames 5:nonResourceURLs",
    "PortStatus 1:port 2:protocol 3:error*",
    "PortworxVolumeSource 1:volumeID 2:fsType 3:readOnly",
    "Preconditions 1:uid* 2:resourceVersion*",
    "PreferredSchedulingTerm 1:weight 2:preference",
    "PriorityClass 1:metadata 2:value 3:globalDefault 4:description 5:preemptionPolicy*",
    "Probe 1:~ProbeHandler 2:initialDelaySeconds 3:timeoutSeconds 4:periodSeconds 5:successThreshold "
    "6:failureThreshold 7:terminationGracePeriodSeconds*",
    "ProbeHandler 1:exec* 2:httpGet* 3:tcpSocket* 4:grpc*",
    "ProjectedVolumeSource 1:sources 2:defaultMode*",
    "QuobyteVolumeSource 1:registry 2:volume 3:readOnly 4:user 5:group 6:tenant",
    "RBDPersistentVolumeSource 1:monitors 2:image 3:fsType 4:pool 5:user 6:keyring 7:secretRef* 8:readOnly",
    "RBDVolumeSource 1:monitors 2:image 3:fsType 4:pool 5:user 6:keyring 7:secretRef* 8:readOnly",
    "ReplicaSet 1:metadata 2:spec 3:status",
    "ReplicaSetCondition 1:type 2:status 3:lastTransitionTime 4:reason 5:message",
    "ReplicaSetSpec 1:replicas* 4:minReadySeconds 2:selector* 3:template",
    "ReplicaSetStatus 1:replicas 2:fullyLabeledReplicas 4:readyReplicas 5:availableReplicas "
    "7:terminatingReplicas* 3:observedGeneration 6:conditions",
    "ResourceClaim 1:name 2:request",
    "ResourceFieldSelector 1:containerName 2:resource 3:divisor",
    "ResourceHealth 1:resourceID 2:health",
    "ResourceQuota 1:metadata 2:spec 3:status",
    "ResourceQuotaSpec 1:hard 2:scopes 3:scopeSelector*",
    "ResourceQuotaStatus 1:hard 2:used",
    "ResourceRequirements 1:limits 2:requests 3:claims",
    "ResourceStatus 1:name 2:resources",
    "Role 1:metadata 2:rules",
    "RoleBinding 1:metadata 2:subjects 3:roleRef",
    "RoleRef 1:apiGroup 2:kind 3:name",
    "RollingUpdateDaemonSet 1:maxUnavailable* 2:maxSurge*",
    "RollingUpdateDeployment 1:maxUnavailable* 2:maxSurge*",
    "RollingUpdateStatefulSetStrategy 1:partition* 2:maxUnavailable*",
    "SELinuxOptions 1:user 2:role 3:type 4:level",
    "Scale 1:metadata 2:spec 3:status",
    "ScaleIOPersistentVolumeSource 1:gateway 2:system 3:secretRef* 4:sslEnabled 5:protectionDomain "
    "6:storagePool 7:storageMode 8:volumeName 9:fsType 10:readOnly",
    "ScaleIOVolumeSource 1:gateway 2:system 3:secretRef* 4:sslEnabled 5:protectionDomain 6:storagePool "
    "7:storageMode 8:volumeName 9:fsType 10:readOnly",
    "ScaleSpec 1:replicas",
    "ScaleStatus 1:replicas 2:selector",
    "ScopeSelector 1:matchExpressions",
    "ScopedResourceSelectorRequirement 1:scopeName 2:operator 3:values",
    "SeccompProfile 1:type 2:localhostProfile*",
    "Secret 1:metadata 5:immutable* 2:data 4:stringData 3:type",
    "SecretEnvSource 1:~LocalObjectReference 2:optional*",
    "SecretKeySelector 1:~LocalObjectReference 2:key 3:optional*",
    "SecretProjection 1:~LocalObjectReference 2:items 4:optional*",
    "SecretReference 1:name 2:namespace",
    "SecretVolumeSource 1:secretName 2:items 3:defaultMode* 4:optional*",
    "SecurityContext 1:capabilities* 2:privileged* 3:seLinuxOptions* 10:windowsOptions* 4:runAsUser* "
    "8:runAsGroup* 5:runAsNonRoot* 6:readOnlyRootFilesystem* 7:allowPrivilegeEscalation* 9:procMount* "
    "11:seccompProfile* 12:appArmorProfile*",
    "Service 1:metadata 2:spec 3:status",
    "ServiceAccount 1:metadata 2:secrets 3:imagePullSecrets 4:automountServiceAccountToken*",
    "ServiceAccountTokenProjection 1:audience 2:expirationSeconds* 3:path",
    "ServicePort 1:name 2:protocol 6:appProtocol* 3:port 4:targetPort 5:nodePort",
    "ServiceSpec 1:ports 2:selector 3:clusterIP 18:clusterIPs 4:type 5:externalIPs 7:sessionAffinity "
    "8:loadBalancerIP 9:loadBalancerSourceRanges 10:externalName 11:externalTrafficPolicy "
    "12:healthCheckNodePort 13:publishNotReadyAddresses 14:sessionAffinityConfig* 19:ipFamilies "
    "17:ipFamilyPolicy* 20:allocateLoadBalancerNodePorts* 21:loadBalancerClass* 22:internalTrafficPolicy* "
    "23:trafficDistribution*",
    "ServiceStatus 1:loadBalancer 2:conditions",
    "SessionAffinityConfig 1:clientIP*",
    "SleepAction 1:seconds",
    "StatefulSet 1:metadata 2:spec 3:status",
    "StatefulSetCondition 1:type 2:status 3:lastTransitionTime 4:reason 5:message",
    "StatefulSetOrdinals 1:start",
    "StatefulSetPersistentVolumeClaimRetentionPolicy 1:whenDeleted 2:whenScaled",
    "StatefulSetSpec 1:replicas* 2:selector* 3:template 4:volumeClaimTemplates 5:serviceName "
    "6:podManagementPolicy 7:updateStrategy 8:revisionHistoryLimit* 9:minReadySeconds "
    "10:persistentVolumeClaimRetentionPolicy* 11:ordinals*",
    "StatefulSetStatus 1:observedGeneration 2:replicas 3:readyReplicas 4:currentReplicas 5:updatedReplicas "
    "6:currentRevision 7:updateRevision 9:collisionCount* 10:conditions 11:availableReplicas",
    "StatefulSetUpdateStrategy 1:type 2:rollingUpdate*",
    "StorageClass 1:metadata 2:provisioner 3:parameters 4:reclaimPolicy* 5:mountOptions "
    "6:allowVolumeExpansion* 7:volumeBindingMode* 8:allowedTopologies",
    "StorageOSPersistentVolumeSource 1:volumeName 2:volumeNamespace 3:fsType 4:readOnly 5:secretRef*",
    "StorageOSVolumeSource 1:volumeName 2:volumeNamespace 3:fsType 4:readOnly 5:secretRef*",
    "Subject 1:kind 2:apiGroup 3:name 4:namespace",
    "SuccessPolicy 1:rules",
    "SuccessPolicyRule 1:succeededIndexes* 2:succeededCount*",
    "Sysctl 1:name 2:value",
    "TCPSocketAction 1:port 2:host",
    "Taint 1:key 2:value 3:effect 4:timeAdded*",
    "Toleration 1:key 2:operator 3:value 4:effect 5:tolerationSeconds*",
    "TopologySelectorLabelRequirement 1:key 2:values",
    "TopologySelectorTerm 1:matchLabelExpressions",
    "TopologySpreadConstraint 1:maxSkew 2:topologyKey 3:whenUnsatisfiable 4:labelSelector* 5:minDomains* "
    "6:nodeAffinityPolicy* 7:nodeTaintsPolicy* 8:matchLabelKeys",
    "TypedLocalObjectReference 1:apiGroup* 2:kind 3:name",
    "TypedObjectReference 1:apiGroup* 2:kind 3:name 4:namespace*",
    "UncountedTerminatedPods 1:succeeded 2:failed",
    "Volume 1:name 2:~VolumeSource",
    "VolumeDevice 1:name 2:devicePath",
    "VolumeMount 1:name 2:readOnly 7:recursiveReadOnly* 3:mountPath 4:subPath 5:mountPropagation* "
    "6:subPathExpr",
    "VolumeMountStatus 1:name 2:mountPath 3:readOnly 4:recursiveReadOnly*",
    "VolumeNodeAffinity 1:required*",
    "VolumeProjection 1:secret* 2:downwardAPI* 3:configMap* 4:serviceAccountToken* 5:clusterTrustBundle* "
    "6:podCertificate*",
    "VolumeResourceRequirements 1:limits 2:requests",
    "VolumeSource 1:hostPath* 2:emptyDir* 3:gcePersistentDisk* 4:awsElasticBlockStore* 5:gitRepo* 6:secret* "
    "7:nfs* 8:iscsi* 9:glusterfs* 10:persistentVolumeClaim* 11:rbd* 12:flexVolume* 13:cinder* 14:cephfs* "
    "15:flocker* 16:downwardAPI* 17:fc* 18:azureFile* 19:configMap* 20:vsphereVolume* 21:quobyte* "
    "22:azureDisk* 23:photonPersistentDisk* 26:projected* 24:portworxVolume* 25:scaleIO* 27:storageos* 28:csi* "
    "29:ephemeral* 30:image*",
    "VsphereVirtualDiskVolumeSource 1:volumePath 2:fsType 3:storagePolicyName 4:storagePolicyID",
    "WeightedPodAffinityTerm 1:weight 2:podAffinityTerm",
    "WindowsSecurityContextOptions 1:gmsaCredentialSpecName* 2:gmsaCredentialSpec* 3:runAsUserName* "
    "4:hostProcess*",
    "events_Event 1:metadata 2:eventTime 3:series* 4:reportingController 5:reportingInstance 6:action 7:reason "
    "8:regarding 9:related* 10:note 11:type 12:deprecatedSource 13:deprecatedFirstTimestamp "
    "14:deprecatedLastTimestamp 15:deprecatedCount",
    "events_EventSeries 1:count 2:lastObservedTime",
    nullptr,
};

}  // namespace tidemark::kube::memory
