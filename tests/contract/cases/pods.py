"""Pods: defaults, allowed changes, binding, eviction."""

from contract.suite import T, case, pod


def _running(t: T, name: str, ready: bool = True, **changes) -> dict:
    t.make_pod(name, **changes)
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]}
    return t.ok(t.api.merge(t.pods(name) + "/status", {"status": status})).json


@case
def pods_get_their_defaults(t: T):
    made = t.make_pod("p")
    t.has({"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30, "securityContext": {}, "priority": 0,
           "preemptionPolicy": "PreemptLowerPriority", "enableServiceLinks": True}, made["spec"])
    t.has({"name": "main", "image": "example/main:1", "imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "resources": {}},
          made["spec"]["containers"][0])
    t.equal({"phase": "Pending", "qosClass": "BestEffort"}, made["status"])


@case
def latest_images_are_always_pulled(t: T):
    for image, policy in {"a": "Always", "a:latest": "Always", "a:1": "IfNotPresent", "a@sha256:" + "0" * 64: "IfNotPresent", "host:5000/a": "Always"}.items():
        made = t.made(t.api.post(t.pods(), {"metadata": {"generateName": "p-"}, "spec": {"containers": [{"name": "x", "image": image}]}}))
        t.equal(policy, made["spec"]["containers"][0]["imagePullPolicy"], image)


@case
def pods_tolerate_lost_nodes_for_five_minutes(t: T):
    wanted = [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for key in ("not-ready", "unreachable")]
    t.equal(wanted, t.make_pod("p")["spec"]["tolerations"])


@case
def limits_become_requests_where_there_are_none(t: T):
    made = t.make_pod("p", container={"resources": {"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "0.1"}}})
    t.equal({"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "1Gi"}}, made["spec"]["containers"][0]["resources"])


@case
def qos_class_follows_from_resources(t: T):
    amounts = {"cpu": "1", "memory": "1Gi"}
    for name, resources, qos in (("a", {}, "BestEffort"), ("b", {"requests": {"cpu": "1"}}, "Burstable"), ("c", {"limits": amounts, "requests": amounts}, "Guaranteed"),
                                 ("d", {"limits": amounts}, "Guaranteed"), ("e", {"limits": {"cpu": "1"}}, "Burstable"),
                                 ("f", {"requests": {"kubernetes.io/batch-cpu": "1000"}, "limits": {"kubernetes.io/batch-cpu": "1000"}}, "BestEffort")):
        t.equal(qos, t.make_pod(name, container={"resources": resources})["status"]["qosClass"], str(resources))


@case
def priority_comes_from_the_class(t: T):
    name = t.name("class")
    t.made(t.api.post("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": 5500, "preemptionPolicy": "Never"}))
    made = t.make_pod("p", spec={"priorityClassName": name})
    t.equal((5500, "Never"), (made["spec"]["priority"], made["spec"]["preemptionPolicy"]))
    answer = t.api.post(t.pods(), pod("q", spec={"priorityClassName": t.name("absent")}))
    t.refused(answer, 403, "Forbidden")
    t.true("no PriorityClass with name" in answer["message"], answer["message"])


@case
def system_priority_classes_are_there(t: T):
    for name, value in {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}.items():
        t.equal(value, t.ok(t.api.get(f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}"))["value"])


@case
def priority_cannot_be_chosen_freely(t: T):
    answer = t.api.post(t.pods(), pod("p", spec={"priority": 77}))
    t.refused(answer, 403, "Forbidden",
              'pods "p" is forbidden: the integer value of priority (77) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name')


@case
def only_a_few_fields_of_a_running_pod_may_change(t: T):
    t.make_pod("p")
    t.ok(t.api.merge(t.pods("p"), {"spec": {"activeDeadlineSeconds": 60}}))
    t.ok(t.api.json_patch(t.pods("p"), {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "x", "operator": "Exists", "effect": "NoSchedule"}}))
    for patch in ({"nodeName": "n"}, {"schedulerName": "other"}, {"hostNetwork": True}):
        t.refused(t.api.merge(t.pods("p"), {"spec": patch}), 422, "Invalid")
    t.refused(t.api.json_patch(t.pods("p"), {"op": "remove", "path": "/spec/tolerations/2"}), 422, "Invalid")
    t.refused(t.api.strategic(t.pods("p"), {"spec": {"containers": [{"name": "second", "image": "i"}]}}), 422, "Invalid")


@case
def labels_and_annotations_of_a_pod_may_change(t: T):
    t.make_pod("p")
    answer = t.ok(t.api.merge(t.pods("p"), {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}))
    t.equal(({"a": "b"}, {"c": "d"}), (answer["metadata.labels"], answer["metadata.annotations"]))


@case
def binding_puts_a_pod_on_a_node(t: T):
    t.make_pod("p")
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p", "annotations": {"why": "room"}}, "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"}}
    answer = t.ok(t.api.post(t.pods("p") + "/binding", body), 201)
    t.has({"kind": "Status", "status": "Success", "code": 201}, answer.json)
    held = t.ok(t.api.get(t.pods("p")))
    t.equal(("n1", {"why": "room"}), (held["spec.nodeName"], held["metadata.annotations"]))
    t.has({"type": "PodScheduled", "status": "True"}, next(c for c in held["status.conditions"] if c["type"] == "PodScheduled"))


@case
def second_binding_is_409(t: T):
    t.make_pod("p")
    body = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    t.ok(t.api.post(t.pods("p") + "/binding", body), 201)
    answer = t.api.post(t.pods("p") + "/binding", {**body, "target": {"kind": "Node", "name": "n2"}})
    t.refused(answer, 409, "Conflict", 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"', {"name": "p", "kind": "pods/binding"})
    t.equal("n1", t.api.get(t.pods("p"))["spec.nodeName"])


@case
def binding_of_an_absent_pod_is_404(t: T):
    t.refused(t.api.post(t.pods("absent") + "/binding", {"metadata": {"name": "absent"}, "target": {"kind": "Node", "name": "n"}}), 404, "NotFound", 'pods "absent" not found')


@case
def binding_needs_a_target(t: T):
    t.make_pod("p")
    answer = t.api.post(t.pods("p") + "/binding", {"metadata": {"name": "p"}, "target": {}})
    t.refused(answer, 500, None, "target.name: Required value")


@case
def binding_with_another_uid_is_409(t: T):
    t.make_pod("p")
    answer = t.api.post(t.pods("p") + "/binding", {"metadata": {"name": "p", "uid": "11111111-1111-4111-8111-111111111111"}, "target": {"kind": "Node", "name": "n"}})
    t.refused(answer, 409, "Conflict")
    t.true("nodeName" not in t.api.get(t.pods("p"))["spec"], "not bound")


@case
def bindings_collection_binds_too(t: T):
    t.make_pod("p")
    t.ok(t.api.post(t.core("bindings"), {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}), 201)
    t.equal("n1", t.api.get(t.pods("p"))["spec.nodeName"])


@case
def scheduling_gates_hold_a_pod_back(t: T):
    t.make_pod("p", spec={"schedulingGates": [{"name": "example.com/wait"}]})
    answer = t.api.post(t.pods("p") + "/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}})
    t.refused(answer, 409, "Conflict", 'Operation cannot be fulfilled on pods/binding "p": pod p has non-empty .spec.schedulingGates')
    t.ok(t.api.merge(t.pods("p"), {"spec": {"schedulingGates": None}}))
    t.ok(t.api.post(t.pods("p") + "/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}), 201)


def _evict(t: T, name: str, **options):
    return t.api.post(t.pods(name) + "/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": t.ns}, **options})


def _budget(t: T, allowed: int, **status) -> None:
    path = t.group("policy/v1", "poddisruptionbudgets")
    t.made(t.api.post(path, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}))
    wanted = {"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 1 + allowed, "desiredHealthy": 1, "expectedPods": 1 + allowed, **status}
    t.ok(t.api.merge(f"{path}/b/status", {"status": wanted}))


@case
def eviction_without_a_budget_deletes(t: T):
    t.make_pod("p")
    t.has({"kind": "Status", "status": "Success", "code": 201}, t.ok(_evict(t, "p"), 201).json)
    t.refused(t.api.get(t.pods("p")), 404, "NotFound")


@case
def eviction_of_a_bound_pod_gives_it_its_grace(t: T):
    _running(t, "p", spec={"nodeName": "n1"})
    t.ok(_evict(t, "p"), 201)
    held = t.ok(t.api.get(t.pods("p")))
    t.equal(30, held["metadata.deletionGracePeriodSeconds"])


@case
def eviction_marks_the_pod_as_disrupted(t: T):
    _running(t, "p", spec={"nodeName": "n1"})
    t.ok(_evict(t, "p", deleteOptions={"dryRun": ["All"]}), 201)
    t.equal(["Ready"], [each["type"] for each in t.ok(t.api.get(t.pods("p")))["status.conditions"]])
    t.ok(_evict(t, "p"), 201)
    marked = {each["type"]: each for each in t.ok(t.api.get(t.pods("p")))["status.conditions"]}
    t.has({"status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}, marked["DisruptionTarget"])


@case
def eviction_takes_delete_options(t: T):
    made = _running(t, "p", spec={"nodeName": "n1"})
    other = "11111111-1111-4111-8111-111111111111"
    t.refused(_evict(t, "p", deleteOptions={"preconditions": {"uid": other}}), 409, "Conflict")
    t.ok(_evict(t, "p", deleteOptions={"gracePeriodSeconds": 0, "preconditions": {"uid": made["metadata"]["uid"]}}), 201)
    t.refused(t.api.get(t.pods("p")), 404, "NotFound")


@case
def eviction_against_the_budget_is_429_with_its_cause(t: T):
    _running(t, "p", spec={"nodeName": "n1"}, metadata={"labels": {"app": "web"}})
    _budget(t, 0)
    answer = _evict(t, "p")
    t.refused(answer, 429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.",
              {"causes": [{"reason": "DisruptionBudget", "message": "The disruption budget b needs 1 healthy pods and has 1 currently"}]})
    t.true("deletionTimestamp" not in t.api.get(t.pods("p"))["metadata"], "the pod stays")


@case
def eviction_within_the_budget_uses_it_up(t: T):
    for name in ("p", "q"):
        _running(t, name, spec={"nodeName": "n1"}, metadata={"labels": {"app": "web"}})
    _budget(t, 1)
    t.ok(_evict(t, "p"), 201)
    budget = t.api.get(t.group("policy/v1", "poddisruptionbudgets", "b"))
    t.equal((0, ["p"]), (budget["status.disruptionsAllowed"], list(budget["status.disruptedPods"])))
    t.refused(_evict(t, "q"), 429, "TooManyRequests")


@case
def budget_that_no_controller_has_seen_yet_holds(t: T):
    _running(t, "p", spec={"nodeName": "n1"}, metadata={"labels": {"app": "web"}})
    path = t.group("policy/v1", "poddisruptionbudgets")
    t.made(t.api.post(path, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}))
    answer = _evict(t, "p")
    t.refused(answer, 429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.")
    t.equal("DisruptionBudget", answer["details.causes.0.reason"])


@case
def pending_and_finished_pods_are_evicted_past_the_budget(t: T):
    _budget(t, 0)
    t.make_pod("pending", metadata={"labels": {"app": "web"}})
    t.ok(_evict(t, "pending"), 201)
    t.make_pod("done", spec={"nodeName": "n1"}, metadata={"labels": {"app": "web"}})
    t.ok(t.api.merge(t.pods("done") + "/status", {"status": {"phase": "Succeeded"}}))
    t.ok(_evict(t, "done"), 201)


@case
def unready_pods_are_evicted_while_the_budget_is_met(t: T):
    _running(t, "p", ready=False, spec={"nodeName": "n1"}, metadata={"labels": {"app": "web"}})
    _budget(t, 0)
    t.ok(_evict(t, "p"), 201)


@case
def two_budgets_for_one_pod_are_refused(t: T):
    _running(t, "p", spec={"nodeName": "n1"}, metadata={"labels": {"app": "web"}})
    path = t.group("policy/v1", "poddisruptionbudgets")
    for name in ("b", "c"):
        t.made(t.api.post(path, {"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}))
    for how in ({}, {"dryRun": "All"}):  # agents rely on the dry run
        answer = t.api.post(t.pods("p") + "/eviction", {"metadata": {"name": "p"}}, **how)
        t.refused(answer, 500, None, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")


@case
def eviction_of_an_absent_pod_is_404(t: T):
    t.refused(_evict(t, "absent"), 404, "NotFound", 'pods "absent" not found', {"name": "absent", "kind": "pods"})


@case
def eviction_with_dry_run_keeps_pod_and_budget(t: T):
    for name in ("p", "q"):
        _running(t, name, spec={"nodeName": "n1"}, metadata={"labels": {"app": "web"}})
    _budget(t, 1)
    t.ok(t.api.post(t.pods("p") + "/eviction", {"metadata": {"name": "p"}}, dryRun="All"), 201)
    t.true("deletionTimestamp" not in t.api.get(t.pods("p"))["metadata"], "the pod stays")
    t.equal(1, t.api.get(t.group("policy/v1", "poddisruptionbudgets", "b"))["status.disruptionsAllowed"])


@case
def eviction_name_must_match(t: T):
    t.make_pod("p")
    answer = t.api.post(t.pods("p") + "/eviction", {"metadata": {"name": "other"}})
    t.refused(answer, 400, "BadRequest", "name in URL does not match name in Eviction object")


@case
def unready_pods_go_past_a_budget_that_always_allows_it(t: T):
    path = t.group("policy/v1", "poddisruptionbudgets")
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
    t.made(t.api.post(path, {"metadata": {"name": "b"}, "spec": spec}))
    status = {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 1, "expectedPods": 2}
    t.ok(t.api.merge(f"{path}/b/status", {"status": status}))
    _running(t, "unready", ready=False, spec={"nodeName": "n1"}, metadata={"labels": {"app": "web"}})
    _running(t, "ready", spec={"nodeName": "n1"}, metadata={"labels": {"app": "web"}})
    t.ok(_evict(t, "unready"), 201)
    t.equal(status, t.api.get(f"{path}/b")["status"], "the budget is unchanged")
    t.refused(_evict(t, "ready"), 429, "TooManyRequests")


@case
def unready_pods_go_past_no_budget_that_no_controller_has_seen_but_one_that_always_allows_it(t: T):
    path = t.group("policy/v1", "poddisruptionbudgets")
    for name, policy in {"a": "AlwaysAllow", "i": "IfHealthyBudget"}.items():
        t.made(t.api.post(path, {"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}, "unhealthyPodEvictionPolicy": policy}}))
        _running(t, name, ready=False, spec={"nodeName": "n1"}, metadata={"labels": {"app": name}})
    t.ok(_evict(t, "a"), 201)
    t.refused(_evict(t, "i"), 429, "TooManyRequests")


@case
def unready_pods_do_not_go_past_a_budget_that_wants_none_healthy(t: T):
    """If no pod is required, the budget's own count decides."""
    _running(t, "p", ready=False, spec={"nodeName": "n1"}, metadata={"labels": {"app": "web"}})
    _budget(t, 0, currentHealthy=1, desiredHealthy=0)
    t.refused(_evict(t, "p"), 429, "TooManyRequests", None,
              {"causes": [{"reason": "DisruptionBudget", "message": "The disruption budget b needs 0 healthy pods and has 1 currently"}]})


@case
def eviction_policy_of_a_budget_is_one_of_two(t: T):
    name = "b"
    answer = t.api.post(t.group("policy/v1", "poddisruptionbudgets"), {"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": {}, "unhealthyPodEvictionPolicy": "Never"}})
    t.invalid(answer, "PodDisruptionBudget", name, ("FieldValueNotSupported", "spec.unhealthyPodEvictionPolicy", 'Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"'), group="policy")


@case
def deadline_of_a_pod_only_comes_nearer(t: T):
    t.make_pod("p")
    set_to = lambda seconds: t.api.merge(t.pods("p"), {"spec": {"activeDeadlineSeconds": seconds}})
    field = "spec.activeDeadlineSeconds"
    t.ok(set_to(100))
    t.invalid(set_to(200), "Pod", "p", ("FieldValueInvalid", field, "Invalid value: 200: must be less than or equal to previous value"))
    t.ok(set_to(50))
    t.invalid(set_to(None), "Pod", "p", ("FieldValueInvalid", field, "Invalid value: null: must not update from a positive integer to nil value"))
    t.invalid(set_to(0), "Pod", "p", ("FieldValueInvalid", field, "Invalid value: 0: must be between 1 and 2147483647, inclusive"))
    for seconds in (0, -1, 2147483648):
        answer = t.api.post(t.pods(), pod("q", spec={"activeDeadlineSeconds": seconds}))
        t.invalid(answer, "Pod", "q", ("FieldValueInvalid", field, f"Invalid value: {seconds}: must be between 1 and 2147483647, inclusive"))


@case
def grace_of_a_pod_does_not_change(t: T):
    t.make_pod("p", spec={"terminationGracePeriodSeconds": 20})
    for seconds in (10, 1, 30, -3):
        t.refused(t.api.merge(t.pods("p"), {"spec": {"terminationGracePeriodSeconds": seconds}}), 422, "Invalid")
    t.equal(20, t.api.get(t.pods("p"))["spec.terminationGracePeriodSeconds"])
    t.equal(1, t.make_pod("negative", spec={"terminationGracePeriodSeconds": -5})["spec"]["terminationGracePeriodSeconds"])


@case
def scheduling_gates_only_go(t: T):
    t.make_pod("p", spec={"schedulingGates": [{"name": "example.com/a"}, {"name": "example.com/b"}]})
    gates = lambda name, *names: t.api.merge(t.pods(name), {"spec": {"schedulingGates": [{"name": gate} for gate in names]}})
    new = lambda index, gate: ("FieldValueForbidden", f"spec.schedulingGates[{index}].name", f"Forbidden: only deletion is allowed, but found new scheduling gate '{gate}'")
    t.invalid(gates("p", "example.com/a", "example.com/c"), "Pod", "p", new(1, "example.com/c"))
    t.ok(gates("p", "example.com/b"))
    t.invalid(gates("p", "example.com/a"), "Pod", "p", new(0, "example.com/a"))
    t.ok(gates("p"))
    t.invalid(gates("p", "example.com/b"), "Pod", "p", new(0, "example.com/b"))


@case
def scheduling_gates_of_a_new_pod_are_checked(t: T):
    gated = lambda *names, **spec: t.api.post(t.pods(), pod("p", spec={"schedulingGates": [{"name": gate} for gate in names], **spec}))
    t.invalid(gated("a", nodeName="n1"), "Pod", "p", ("FieldValueForbidden", "spec.nodeName", "Forbidden: cannot be set until all schedulingGates have been cleared"))
    t.invalid(gated("a", "a"), "Pod", "p", ("FieldValueDuplicate", "spec.schedulingGates[1]", 'Duplicate value: "a"'))
    t.equal("spec.schedulingGates[0]", t.ok(gated("A b"), 422)["details.causes.0.field"])


@case
def where_a_gated_pod_may_run_only_becomes_narrower(t: T):
    t.make_pod("p", spec={"schedulingGates": [{"name": "example.com/a"}], "nodeSelector": {"a": "b"}})
    put = lambda **spec: t.api.merge(t.pods("p"), {"spec": spec})
    only = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
    t.ok(put(nodeSelector={"c": "d"}))
    t.invalid(put(nodeSelector={"a": "x"}), "Pod", "p", ("FieldValueInvalid", "spec.nodeSelector", 'Invalid value: {"a":"x","c":"d"}: ' + only))
    t.invalid(put(nodeSelector={"a": None}), "Pod", "p", ("FieldValueInvalid", "spec.nodeSelector", 'Invalid value: {"c":"d"}: ' + only))
    terms = lambda *keys: {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": k, "operator": "Exists"} for k in term]} for term in keys]}}}
    place = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    t.ok(put(affinity=terms("a")))
    t.ok(put(affinity=terms("ab")))
    t.equal(f"{place}[0]", t.ok(put(affinity=terms("a")), 422)["details.causes.0.field"])
    t.equal(place, t.ok(put(affinity=terms("ab", "c")), 422)["details.causes.0.field"])
    t.equal(place, t.ok(put(affinity=None), 422)["details.causes.0.field"])
    t.equal("spec", t.ok(put(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k"}]}}), 422)["details.causes.0.field"])
