"""Status apart from spec, generation, and nodes, whose status has the sold amounts."""

from contract.suite import T, case, pod


@case
def put_of_the_object_ignores_status(t: T):
    node = t.make_node(status={"capacity": {"cpu": "4"}})
    name = node["metadata"]["name"]
    t.ok(t.api.merge(t.node(name) + "/status", {"status": {"capacity": {"cpu": "4"}, "phase": "Running"}}))
    held = t.api.get(t.node(name)).json
    held["status"]["capacity"] = {"cpu": "8"}
    held["spec"]["unschedulable"] = True
    answer = t.ok(t.api.put(t.node(name), held))
    t.equal(({"cpu": "4"}, True), (answer["status.capacity"], answer["spec.unschedulable"]))


@case
def put_of_status_ignores_spec_and_labels_of_pods(t: T):
    made = t.make_pod("p", metadata={"labels": {"app": "web"}})
    made["spec"]["priority"] = 1000
    made["status"]["phase"] = "Running"
    made["status"]["message"] = "hello"
    answer = t.ok(t.api.put(t.pods("p") + "/status", made))
    t.equal(("Running", "hello", 0), (answer["status.phase"], answer["status.message"], answer["spec.priority"]))


@case
def status_patch_keeps_annotations_of_nodes(t: T):
    """A manager relies on it: it writes amounts and their explanation in one patch."""
    name = t.make_node(metadata={"annotations": {"kept": "1"}})["metadata"]["name"]
    patch = {"metadata": {"annotations": {"tidemark.io/why": "because"}, "labels": {"tidemark.io/state": "on"}}, "status": {"allocatable": {"kubernetes.io/batch-cpu": "4000"}}}
    answer = t.ok(t.api.merge(t.node(name) + "/status", patch))
    t.equal({"kept": "1", "tidemark.io/why": "because"}, answer["metadata.annotations"])
    t.equal({"tidemark.io/state": "on"}, answer["metadata.labels"])
    held = t.api.get(t.node(name))
    t.equal({"kept": "1", "tidemark.io/why": "because"}, held["metadata.annotations"])
    t.equal({"kubernetes.io/batch-cpu": "4k"}, held["status.allocatable"])


@case
def status_patch_of_nodes_ignores_spec(t: T):
    name = t.make_node()["metadata"]["name"]
    answer = t.ok(t.api.merge(t.node(name) + "/status", {"spec": {"unschedulable": True}, "status": {"allocatable": {"cpu": "1"}}}))
    t.true("unschedulable" not in answer["spec"], "spec is left alone")
    t.equal("1", answer["status.allocatable.cpu"])


@case
def patch_of_the_object_ignores_status(t: T):
    name = t.make_node()["metadata"]["name"]
    answer = t.ok(t.api.merge(t.node(name), {"status": {"allocatable": {"cpu": "1"}}, "metadata": {"labels": {"x": "y"}}}))
    t.equal("y", answer["metadata.labels.x"])
    t.true("allocatable" not in (answer.get("status") or {}), "status is left alone")


@case
def get_of_status_answers_the_whole_object(t: T):
    name = t.make_node()["metadata"]["name"]
    t.equal(("Node", name), (t.ok(t.api.get(t.node(name) + "/status"))["kind"], t.api.get(t.node(name) + "/status")["metadata.name"]))


@case
def kinds_without_status_answer_404(t: T):
    t.make_cm("a")
    t.refused(t.api.get(t.cm("a") + "/status"), 404, "NotFound", "the server could not find the requested resource", {})


@case
def status_cannot_be_created_or_deleted(t: T):
    name = t.make_node()["metadata"]["name"]
    for method in ("POST", "DELETE"):
        t.refused(t.api.request(method, t.node(name) + "/status", {"metadata": {"name": name}}), 405, "MethodNotAllowed")


@case
def create_of_a_node_takes_status(t: T):
    made = t.make_node(status={"capacity": {"cpu": "4", "memory": "8Gi"}, "allocatable": {"cpu": "4"}})
    t.equal(({"cpu": "4", "memory": "8Gi"}, {"cpu": "4"}), (made["status"]["capacity"], made["status"]["allocatable"]))


@case
def create_of_a_pod_drops_status(t: T):
    made = t.make_pod("p", status={"phase": "Running", "podIP": "10.0.0.9"})
    t.equal({"phase": "Pending", "qosClass": "BestEffort"}, made["status"])


@case
def conflict_is_reported_for_status_too(t: T):
    made = t.make_pod("p")
    t.ok(t.api.merge(t.pods("p"), {"metadata": {"labels": {"x": "y"}}}))
    made["status"]["phase"] = "Running"
    t.refused(t.api.put(t.pods("p") + "/status", made), 409, "Conflict")


@case
def amounts_of_node_status_become_canonical(t: T):
    name = t.make_node()["metadata"]["name"]
    amounts = {"cpu": "1000m", "memory": "1024Mi", "ephemeral-storage": "1e3", "example.com/a": 5, "example.com/b": "2000", "hugepages-2Mi": "0"}
    answer = t.ok(t.api.merge(t.node(name) + "/status", {"status": {"capacity": amounts, "allocatable": {"cpu": "1500m", "memory": "0.5Gi"}}}))
    t.equal({"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1e3", "example.com/a": "5", "example.com/b": "2k", "hugepages-2Mi": "0"}, answer["status.capacity"])
    t.equal({"cpu": "1500m", "memory": "512Mi"}, answer["status.allocatable"])


@case
def fractions_of_extended_resources_are_refused_on_nodes(t: T):
    name = t.make_node()["metadata"]["name"]
    answer = t.api.merge(t.node(name) + "/status", {"status": {"allocatable": {"example.com/gpu": "1500m"}}})
    t.invalid(answer, "Node", name, ("FieldValueInvalid", "status.allocatable.example.com/gpu", 'Invalid value: "1500m": must be an integer'))


@case
def fractions_under_kubernetes_io_are_taken_on_nodes(t: T):
    """Names under kubernetes.io/ are not "extended" resources for the API server: it does not require whole batch-cpu."""
    name = t.make_node()["metadata"]["name"]
    answer = t.ok(t.api.merge(t.node(name) + "/status", {"status": {"allocatable": {"kubernetes.io/batch-cpu": "1500m"}}}))
    t.equal({"kubernetes.io/batch-cpu": "1500m"}, answer["status.allocatable"])


@case
def strategic_patch_of_node_status_merges_amounts_and_conditions(t: T):
    name = t.make_node(status={"allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True", "reason": "a"}]})["metadata"]["name"]
    patch = {"status": {"allocatable": {"kubernetes.io/batch-cpu": "2000"}, "conditions": [{"type": "Ready", "status": "False"}, {"type": "Mine", "status": "True"}]}}
    answer = t.ok(t.api.strategic(t.node(name) + "/status", patch))
    t.equal({"cpu": "4", "kubernetes.io/batch-cpu": "2k"}, answer["status.allocatable"])
    t.equal({"Ready": "False", "Mine": "True"}, {c["type"]: c["status"] for c in answer["status.conditions"]})
    t.equal("a", next(c for c in answer["status.conditions"] if c["type"] == "Ready")["reason"])


@case
def null_takes_an_amount_away(t: T):
    name = t.make_node(status={"allocatable": {"cpu": "4", "kubernetes.io/batch-cpu": "1000"}})["metadata"]["name"]
    answer = t.ok(t.api.strategic(t.node(name) + "/status", {"status": {"allocatable": {"kubernetes.io/batch-cpu": None}}}))
    t.equal({"cpu": "4"}, answer["status.allocatable"])


@case
def new_nodes_are_tainted_not_ready(t: T):
    made = t.make_node()
    t.equal([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}], made["spec"].get("taints"))
    answer = t.ok(t.api.merge(t.node(made["metadata"]["name"]), {"spec": {"taints": None}}))
    t.true("taints" not in answer["spec"], "and the taint can be removed")


@case
def generation_starts_at_one_and_counts_changes_of_spec(t: T):
    path = t.group("apps/v1", "deployments")
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "x", "image": "y"}]}}
    made = t.made(t.api.post(path, {"metadata": {"name": "a", "generation": 9}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template}}))
    t.equal(1, made["metadata"]["generation"])
    one = path + "/a"
    t.equal(1, t.ok(t.api.merge(one, {"metadata": {"labels": {"x": "y"}}}))["metadata.generation"], "labels do not count")
    t.equal(2, t.ok(t.api.merge(one, {"spec": {"replicas": 3}}))["metadata.generation"], "spec counts")
    t.equal(2, t.ok(t.api.merge(one, {"spec": {"replicas": 3}}))["metadata.generation"], "no change does not")
    t.equal(2, t.ok(t.api.merge(one + "/status", {"status": {"replicas": 3}}))["metadata.generation"], "status does not")
    t.equal(2, t.ok(t.api.merge(one, {"metadata": {"generation": 50}}))["metadata.generation"], "and no client can set it")


@case
def pods_have_a_generation(t: T):
    made = t.make_pod("p")
    t.equal(1, made["metadata"].get("generation"))
    t.equal(2, t.ok(t.api.merge(t.pods("p"), {"spec": {"activeDeadlineSeconds": 100}}))["metadata.generation"])


@case
def scale_reads_and_writes_replicas(t: T):
    path = t.group("apps/v1", "deployments")
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "x", "image": "y"}]}}
    t.made(t.api.post(path, {"metadata": {"name": "a"}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}}))
    scale = t.ok(t.api.get(path + "/a/scale")).json
    t.has({"kind": "Scale", "apiVersion": "autoscaling/v1", "spec": {"replicas": 2}, "status": {"replicas": 0, "selector": "app=web"}}, scale)
    scale["spec"]["replicas"] = 5
    t.equal(5, t.ok(t.api.put(path + "/a/scale", scale))["spec.replicas"])
    t.equal(5, t.api.get(path + "/a")["spec.replicas"])
    resources = {resource["name"]: resource for resource in t.ok(t.api.get("/apis/apps/v1"))["resources"]}
    t.has({"kind": "Scale", "group": "autoscaling", "version": "v1"}, resources["deployments/scale"])


@case
def node_name_of_a_pod_may_be_given_at_creation(t: T):
    made = t.made(t.api.post(t.pods(), pod("p", spec={"nodeName": "some-node"})))
    t.equal("some-node", made["spec"]["nodeName"])
