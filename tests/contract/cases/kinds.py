"""Rules of single built-in kinds: Leases, Events, Services, workloads, RBAC."""

from contract.suite import T, case

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "x", "image": "y:1"}]}}


@case
def lease_keeps_micro_times(t: T):
    spec = {"holderIdentity": "me", "leaseDurationSeconds": 15, "acquireTime": "2024-01-02T03:04:05.678901Z", "renewTime": "2024-01-02T03:04:06.000000Z", "leaseTransitions": 3}
    made = t.made(t.api.post(t.group("coordination.k8s.io/v1", "leases"), {"metadata": {"name": "a"}, "spec": spec}))
    t.equal(spec, made["spec"])


@case
def micro_times_have_six_digits(t: T):
    answer = t.api.post(t.group("coordination.k8s.io/v1", "leases"), {"metadata": {"name": "a"}, "spec": {"renewTime": "2024-01-02T03:04:05.5Z"}})
    t.refused(answer, 400, "BadRequest", 'Lease in version "v1" cannot be handled as a Lease: parsing time "2024-01-02T03:04:05.5Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ".5Z" as ".000000"')


@case
def lease_update_by_two_holders_conflicts(t: T):
    path = t.group("coordination.k8s.io/v1", "leases")
    made = t.made(t.api.post(path, {"metadata": {"name": "a"}, "spec": {"holderIdentity": "one"}}))
    t.ok(t.api.put(f"{path}/a", {**made, "spec": {"holderIdentity": "two"}}))
    t.refused(t.api.put(f"{path}/a", {**made, "spec": {"holderIdentity": "three"}}), 409, "Conflict",
              'Operation cannot be fulfilled on leases.coordination.k8s.io "a": the object has been modified; please apply your changes to the latest version and try again')


def _event(t: T, name: str = "e", **changes) -> dict:
    return {"metadata": {"name": name}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": t.ns, "uid": "u"}, "reason": "Started", "message": "hello", "type": "Normal",
            "source": {"component": "test"}, "firstTimestamp": "2024-01-02T03:04:05Z", "lastTimestamp": "2024-01-02T03:04:06Z", "count": 2, **changes}


@case
def events_are_stored_and_counted_up(t: T):
    made = t.made(t.api.post(t.core("events"), _event(t)))
    t.has({"reason": "Started", "count": 2, "eventTime": None, "reportingComponent": "", "reportingInstance": ""}, made)
    answer = t.ok(t.api.strategic(t.core("events", "e"), {"count": 3, "lastTimestamp": "2024-01-02T03:05:06Z"}))
    t.equal((3, "2024-01-02T03:05:06Z"), (answer["count"], answer["lastTimestamp"]))


@case
def events_are_seen_through_both_groups(t: T):
    t.made(t.api.post(t.core("events"), _event(t)))
    seen = t.ok(t.api.get(t.group("events.k8s.io/v1", "events", "e"))).json
    t.has({"apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "hello", "regarding": {"kind": "Pod", "name": "p"}, "deprecatedCount": 2}, seen)
    t.true("message" not in seen and "involvedObject" not in seen, "under their new names")


@case
def new_style_events_want_their_fields(t: T):
    path = t.group("events.k8s.io/v1", "events")
    answer = t.api.post(path, {"metadata": {"name": "e"}, "regarding": {"namespace": t.ns}})
    t.refused(answer, 422, "Invalid")
    body = {"metadata": {"name": "e", "namespace": t.ns}, "regarding": {"kind": "Pod", "name": "p", "namespace": t.ns}, "eventTime": "2024-01-02T03:04:05.000000Z", "type": "Normal", "reason": "Started",
            "action": "Starting", "note": "hello", "reportingController": "example.com/test", "reportingInstance": "test-1"}
    t.made(t.api.post(path, body))
    old = t.ok(t.api.get(t.core("events", "e")))
    t.equal(("hello", "example.com/test"), (old["message"], old["reportingComponent"]))


@case
def events_are_selected_by_their_object(t: T):
    t.made(t.api.post(t.core("events"), _event(t, "e")))
    t.made(t.api.post(t.core("events"), _event(t, "f", involvedObject={"kind": "Pod", "name": "q", "namespace": t.ns}, type="Warning")))
    for selector, name in {"involvedObject.name=p": "e", "involvedObject.name=q,involvedObject.kind=Pod": "f", "type=Warning": "f", "reason=Started,involvedObject.uid=u": "e"}.items():
        t.equal([name], [item["metadata"]["name"] for item in t.ok(t.api.get(t.core("events"), fieldSelector=selector))["items"]], selector)


@case
def event_of_another_namespace_is_refused(t: T):
    answer = t.api.post(t.core("events"), _event(t, involvedObject={"kind": "Pod", "name": "p", "namespace": "other"}))
    t.refused(answer, 422, "Invalid")
    t.equal("involvedObject.namespace", answer["details.causes.0.field"])


@case
def deployment_gets_its_defaults(t: T):
    made = t.made(t.api.post(t.group("apps/v1", "deployments"), {"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}}))
    t.has({"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}}, made["spec"])
    t.has({"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30}, made["spec"]["template"]["spec"])


@case
def deployment_selector_is_immutable(t: T):
    path = t.group("apps/v1", "deployments")
    t.made(t.api.post(path, {"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}}))
    answer = t.api.merge(f"{path}/a", {"spec": {"selector": {"matchLabels": {"app": "web", "x": "y"}}, "template": {"metadata": {"labels": {"x": "y"}}}}})
    t.refused(answer, 422, "Invalid")
    t.equal(("FieldValueInvalid", "spec.selector"), (answer["details.causes.0.reason"], answer["details.causes.0.field"]))
    t.true(answer["details.causes.0.message"].endswith("field is immutable"), answer["details.causes.0.message"])


@case
def daemon_sets_stateful_sets_and_replica_sets_are_stored(t: T):
    selector = {"matchLabels": {"app": "web"}}
    for plural, kind, spec in (("daemonsets", "DaemonSet", {}), ("statefulsets", "StatefulSet", {"serviceName": "s"}), ("replicasets", "ReplicaSet", {"replicas": 2})):
        made = t.made(t.api.post(t.group("apps/v1", plural), {"metadata": {"name": "a"}, "spec": {"selector": selector, "template": TEMPLATE, **spec}}))
        t.equal((kind, "apps/v1", 1), (made["kind"], made["apiVersion"], made["metadata"]["generation"]))


@case
def job_gets_a_selector_of_its_own(t: T):
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "x", "image": "y:1"}]}}
    made = t.made(t.api.post(t.group("batch/v1", "jobs"), {"metadata": {"name": "j"}, "spec": {"template": template}}))
    uid = made["metadata"]["uid"]
    t.equal({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}, made["spec"]["selector"])
    t.has({"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": "j", "controller-uid": uid, "job-name": "j"}, made["spec"]["template"]["metadata"]["labels"])
    t.has({"parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False}, made["spec"])


@case
def headless_service_keeps_no_address(t: T):
    made = t.made(t.api.post(t.core("services"), {"metadata": {"name": "s"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}], "selector": {"app": "web"}}}))
    t.has({"clusterIP": "None", "type": "ClusterIP", "sessionAffinity": "None", "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]}, made["spec"])


@case
def service_names_begin_with_a_letter(t: T):
    answer = t.api.post(t.core("services"), {"metadata": {"name": "1a"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}})
    t.refused(answer, 422, "Invalid")
    t.equal("metadata.name", answer["details.causes.0.field"])


@case
def roles_and_bindings_are_stored(t: T):
    rbac = "rbac.authorization.k8s.io/v1"
    t.made(t.api.post(t.group(rbac, "roles"), {"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}))
    made = t.made(t.api.post(t.group(rbac, "rolebindings"), {
        "metadata": {"name": "b"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": t.ns}]}))
    t.equal([{"kind": "ServiceAccount", "name": "s", "namespace": t.ns}], made["subjects"])


@case
def budget_keeps_numbers_and_percentages(t: T):
    path = t.group("policy/v1", "poddisruptionbudgets")
    for name, value in {"a": 1, "b": "50%"}.items():
        made = t.made(t.api.post(path, {"metadata": {"name": name}, "spec": {"minAvailable": value, "selector": {"matchLabels": {"a": "b"}}}}))
        t.equal(value, made["spec"]["minAvailable"])


@case
def secret_types_are_immutable(t: T):
    t.made(t.api.post(t.core("secrets"), {"metadata": {"name": "a"}, "type": "example.com/one", "data": {"x": "eA=="}}))
    answer = t.api.merge(t.core("secrets", "a"), {"type": "example.com/two"})
    t.refused(answer, 422, "Invalid")
    t.equal("type", answer["details.causes.0.field"])


@case
def config_maps_have_binary_data(t: T):
    made = t.made(t.api.post(t.cm(), {"metadata": {"name": "a"}, "binaryData": {"b": "AAEC/w=="}}))
    t.equal({"b": "AAEC/w=="}, made["binaryData"])
    answer = t.api.post(t.cm(), {"metadata": {"name": "b"}, "binaryData": {"x": "eA=="}, "data": {"x": "y"}})
    t.invalid(answer, "ConfigMap", "b", ("FieldValueInvalid", "data[x]", 'Invalid value: "x": duplicate of key present in binaryData'))


@case
def nodes_are_cordoned_and_tainted(t: T):
    name = t.make_node()["metadata"]["name"]
    answer = t.ok(t.api.strategic(t.node(name), {"spec": {"unschedulable": True}}))
    t.equal(True, answer["spec.unschedulable"])
    taints = [{"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "a", "value": "b", "effect": "NoExecute"}]
    answer = t.ok(t.api.merge(t.node(name), {"spec": {"taints": taints}}))
    t.equal([taint["effect"] for taint in taints], [taint["effect"] for taint in answer["spec.taints"]])
