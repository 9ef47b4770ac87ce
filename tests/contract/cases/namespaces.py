"""Namespaces: their content and their end."""

from contract.suite import T, case


def _make(t: T, **meta) -> str:
    name = t.name("space")
    t.made(t.api.post("/api/v1/namespaces", {"metadata": {"name": name, **meta}}))
    return name


@case
def namespace_starts_active_with_a_finalizer_and_its_name_as_a_label(t: T):
    name = _make(t)
    held = t.ok(t.api.get(f"/api/v1/namespaces/{name}"))
    t.equal(({"finalizers": ["kubernetes"]}, {"phase": "Active"}, {"kubernetes.io/metadata.name": name}), (held["spec"], held["status"], held["metadata.labels"]))


@case
def name_label_cannot_be_taken_away(t: T):
    name = _make(t)
    answer = t.ok(t.api.merge(f"/api/v1/namespaces/{name}", {"metadata": {"labels": {"kubernetes.io/metadata.name": None, "x": "y"}}}))
    t.equal({"kubernetes.io/metadata.name": name, "x": "y"}, answer["metadata.labels"])


@case
def create_in_an_absent_namespace_is_404(t: T):
    name = t.name("absent")
    answer = t.api.post(f"/api/v1/namespaces/{name}/configmaps", {"metadata": {"name": "a"}})
    t.refused(answer, 404, "NotFound", f'namespaces "{name}" not found', {"name": name, "kind": "namespaces"})


@case
def deleted_namespace_is_terminating_while_something_holds_it(t: T):
    name = _make(t)
    path = f"/api/v1/namespaces/{name}"
    t.made(t.api.post(f"{path}/configmaps", {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}))
    answer = t.ok(t.api.delete(path))
    t.equal(("Namespace", "Terminating"), (answer["kind"], answer["status.phase"]))
    t.true(answer["metadata.deletionTimestamp"], "marked")
    refused = t.api.post(f"{path}/configmaps", {"metadata": {"name": "new"}})
    t.refused(refused, 403, "Forbidden", f'configmaps "new" is forbidden: unable to create new content in namespace {name} because it is being terminated')
    t.equal({"name": "new", "kind": "configmaps", "causes": [{"reason": "NamespaceTerminating", "message": f"namespace {name} is being terminated", "field": "metadata.namespace"}]}, refused["details"])
    t.ok(t.api.merge(f"{path}/configmaps/held", {"data": {"x": "1"}}), 200)
    t.ok(t.api.merge(f"{path}/configmaps/held", {"metadata": {"finalizers": None}}))
    t.api.delete(f"{path}/configmaps/held")


@case
def second_delete_of_a_namespace_answers_the_same(t: T):
    name = _make(t)
    path = f"/api/v1/namespaces/{name}"
    t.made(t.api.post(f"{path}/configmaps", {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}))
    first, second = t.ok(t.api.delete(path)), t.ok(t.api.delete(path))
    t.equal(first["metadata.deletionTimestamp"], second["metadata.deletionTimestamp"])
    t.ok(t.api.merge(f"{path}/configmaps/held", {"metadata": {"finalizers": None}}))


@case
def system_namespaces_cannot_be_deleted(t: T):
    for name in ("default", "kube-system", "kube-public"):
        t.refused(t.api.delete(f"/api/v1/namespaces/{name}"), 403, "Forbidden", f'namespaces "{name}" is forbidden: this namespace may not be deleted')


@case
def finalize_takes_the_last_finalizer_away(t: T):
    name = _make(t, finalizers=["example.com/hold"])
    path = f"/api/v1/namespaces/{name}"
    t.ok(t.api.delete(path))
    t.ok(t.api.merge(path, {"metadata": {"finalizers": None}}))
    held = t.api.get(path)
    if held.status == 200:  # not needed on a server with a namespace controller
        t.api.put(f"{path}/finalize", {**held.json, "spec": {"finalizers": []}})
    t.refused(t.api.get(path), 404, "NotFound")


@case
def built_in_namespaces_are_there(t: T):
    names = [item["metadata"]["name"] for item in t.ok(t.api.get("/api/v1/namespaces"))["items"]]
    for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
        t.true(name in names, name)


@case
def namespaced_kinds_are_not_found_at_the_top(t: T):
    t.refused(t.api.get("/api/v1/configmaps/a"), 404, "NotFound", "the server could not find the requested resource", {})


@case
def cluster_kinds_are_not_found_in_a_namespace(t: T):
    t.refused(t.api.get(f"/api/v1/namespaces/{t.ns}/nodes"), 404, "NotFound")
