"""Discovery, versions, tables, and answers for missing paths."""

import gzip

from contract.client import PARTIAL, PARTIAL_LIST, TABLE, Client
from contract.suite import T, case

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


@case
def api_lists_its_versions(t: T):
    found = t.ok(t.api.get("/api")).json
    t.equal(("APIVersions", ["v1"]), (found["kind"], found["versions"]))
    t.true(isinstance(found["serverAddressByClientCIDRs"], list), "addresses")


@case
def apis_lists_groups_with_their_preferred_version(t: T):
    found = t.ok(t.api.get("/apis")).json
    t.equal(("APIGroupList", "v1"), (found["kind"], found["apiVersion"]))
    groups = {group["name"]: group for group in found["groups"]}
    for name, version in {"apps": "v1", "batch": "v1", "policy": "v1", "coordination.k8s.io": "v1", "apiextensions.k8s.io": "v1", "events.k8s.io": "v1", "scheduling.k8s.io": "v1",
                          "rbac.authorization.k8s.io": "v1"}.items():
        t.has({"preferredVersion": {"groupVersion": f"{name}/{version}", "version": version}}, groups[name])
    t.has({"kind": "APIGroup", "apiVersion": "v1", "name": "apps"}, t.ok(t.api.get("/apis/apps")).json)


@case
def resources_of_the_core_group(t: T):
    found = t.ok(t.api.get("/api/v1")).json
    t.equal(("APIResourceList", "v1"), (found["kind"], found["groupVersion"]))
    resources = {resource["name"]: resource for resource in found["resources"]}
    t.has({"singularName": "pod", "namespaced": True, "kind": "Pod", "shortNames": ["po"], "categories": ["all"],
           "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]}, resources["pods"])
    t.has({"singularName": "node", "namespaced": False, "kind": "Node", "shortNames": ["no"]}, resources["nodes"])
    t.has({"namespaced": True, "kind": "Pod", "verbs": ["get", "patch", "update"]}, resources["pods/status"])
    t.has({"kind": "Binding", "verbs": ["create"]}, resources["pods/binding"])
    t.has({"kind": "Eviction", "group": "policy", "version": "v1", "verbs": ["create"]}, resources["pods/eviction"])
    t.equal(["create", "delete", "get", "list", "patch", "update", "watch"], resources["namespaces"]["verbs"])


@case
def resources_of_another_group(t: T):
    found = t.ok(t.api.get("/apis/apps/v1")).json
    t.equal(("APIResourceList", "v1", "apps/v1"), (found["kind"], found["apiVersion"], found["groupVersion"]))
    resources = {resource["name"]: resource for resource in found["resources"]}
    t.has({"singularName": "deployment", "kind": "Deployment", "shortNames": ["deploy"], "namespaced": True}, resources["deployments"])


@case
def aggregated_discovery_tells_all_at_once(t: T):
    for path, group, wanted in (("/api", "", "pods"), ("/apis", "apps", "deployments")):
        answer = t.ok(t.api.get(path, accept=AGGREGATED))
        t.equal("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", answer.headers["Content-Type"])
        t.equal(("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2"), (answer["kind"], answer["apiVersion"]))
        found = next(item for item in answer["items"] if item["metadata"].get("name", "") == group)
        t.equal("v1", found["versions"][0]["version"])
        resources = {resource["resource"]: resource for resource in found["versions"][0]["resources"]}
        t.has({"scope": "Namespaced", "responseKind": {"kind": {"pods": "Pod", "deployments": "Deployment"}[wanted]}}, resources[wanted])
        t.true("status" in [sub["subresource"] for sub in resources[wanted]["subresources"]], "sub-resources lie below")


@case
def version_is_reported(t: T):
    found = t.ok(t.api.get("/version")).json
    t.equal(("1", "34"), (found["major"], found["minor"].rstrip("+")))
    t.true(found["gitVersion"].startswith("v1.34."), found["gitVersion"])


@case
def health_is_reported(t: T):
    for path in ("/healthz", "/readyz", "/livez"):
        t.equal(b"ok", t.ok(t.api.get(path)).body)


@case
def openapi_index_names_every_group_version(t: T):
    paths = t.ok(t.api.get("/openapi/v3"))["paths"]
    for name in ("api/v1", "apis/apps/v1"):
        t.true(paths[name]["serverRelativeURL"].startswith(f"/openapi/v3/{name}?hash="), name)


@case
def openapi_of_a_group_version_is_a_document(t: T):
    url = t.ok(t.api.get("/openapi/v3"))["paths"]["api/v1"]["serverRelativeURL"]
    found = t.ok(t.api.get(url)).json
    t.true(found["openapi"].startswith("3."), found["openapi"])
    described = [gvk for schema in found["components"]["schemas"].values() for gvk in schema.get("x-kubernetes-group-version-kind", [])]
    t.true({"group": "", "version": "v1", "kind": "ConfigMap"} in described, "with a schema of every kind, under any name")


@case
def unknown_paths_are_404(t: T):
    for path in ("/apis/absent.example.com/v1/things", "/api/v1/nonsense", "/api/v2", "/apis/apps/v7/deployments"):
        t.ok(t.api.get(path), 404)
    t.refused(t.api.get("/api/v1/nonsense"), 404, "NotFound", "the server could not find the requested resource", {})
    t.equal(b"404 page not found\n", t.ok(t.api.get("/apis/absent.example.com/v1/things"), 404).body)


@case
def unknown_verbs_are_405(t: T):
    t.refused(t.api.request("POST", t.cm("a"), {"metadata": {"name": "a"}}), 405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})
    t.refused(t.api.put(t.cm(), {"metadata": {"name": "a"}}), 405, "MethodNotAllowed")
    t.refused(t.api.request("POST", t.node("x") + "/status", {}), 405, "MethodNotAllowed")


@case
def without_a_token_it_is_401_or_403(t: T):
    """403 if anonymous requests have their own user, 401 if they are refused: the real server can be configured for both."""
    client = Client(t.run.target, token="")
    answer = client.get("/api/v1/nodes")
    t.true(answer.status in (401, 403), str(answer.status))
    client.close()


@case
def a_wrong_token_is_401(t: T):
    client = Client(t.run.target, token="nonsense")
    try:
        t.refused(client.get("/api/v1/nodes"), 401, "Unauthorized", "Unauthorized")
        t.refused(client.get("/version"), 401, "Unauthorized")
    finally:
        client.close()


@case
def table_of_pods(t: T):
    t.make_pod("p")
    table = t.ok(t.api.get(t.pods(), accept=TABLE)).json
    t.equal(("Table", "meta.k8s.io/v1"), (table["kind"], table["apiVersion"]))
    t.equal([("Name", 0), ("Ready", 0), ("Status", 0), ("Restarts", 0), ("Age", 0), ("IP", 1), ("Node", 1), ("Nominated Node", 1), ("Readiness Gates", 1)],
            [(column["name"], column["priority"]) for column in table["columnDefinitions"]])
    cells = table["rows"][0]["cells"]
    t.equal(["p", "0/1", "Pending", "0"], [str(cell) for cell in cells[:4]])
    t.equal(["<none>"] * 4, cells[5:])
    t.equal(("PartialObjectMetadata", "meta.k8s.io/v1", "p"), (table["rows"][0]["object"]["kind"], table["rows"][0]["object"]["apiVersion"], table["rows"][0]["object"]["metadata"]["name"]))


@case
def table_of_one_object(t: T):
    t.make_cm("a", {"x": "1", "y": "2"})
    table = t.ok(t.api.get(t.cm("a"), accept=TABLE)).json
    t.equal((["Name", "Data", "Age"], ["a", 2]), ([c["name"] for c in table["columnDefinitions"]], table["rows"][0]["cells"][:2]))


@case
def table_includes_the_requested_part(t: T):
    t.make_cm("a", {"x": "1"})
    t.true("object" not in t.ok(t.api.get(t.cm(), accept=TABLE, includeObject="None"))["rows.0"] or t.api.get(t.cm(), accept=TABLE, includeObject="None")["rows.0.object"] is None, "none")
    t.equal("ConfigMap", t.ok(t.api.get(t.cm(), accept=TABLE, includeObject="Object"))["rows.0.object.kind"])
    t.refused(t.api.get(t.cm(), accept=TABLE, includeObject="Nonsense"), 400, "BadRequest")


@case
def table_of_nodes(t: T):
    name = t.make_node(metadata={"labels": {"node-role.kubernetes.io/worker": ""}}, spec={"unschedulable": True},
                       status={"conditions": [{"type": "Ready", "status": "True"}], "addresses": [{"type": "InternalIP", "address": "10.1.2.3"}], "nodeInfo": {"kubeletVersion": "v1.34.2", "osImage": "OS"}})
    name = name["metadata"]["name"]
    table = t.ok(t.api.get(t.node(name), accept=TABLE)).json
    cells = dict(zip([c["name"] for c in table["columnDefinitions"]], table["rows"][0]["cells"]))
    t.has({"Name": name, "Status": "Ready,SchedulingDisabled", "Roles": "worker", "Version": "v1.34.2", "Internal-IP": "10.1.2.3", "External-IP": "<none>", "OS-Image": "OS"}, cells)


@case
def table_pages_have_a_continuation(t: T):
    for name in ("a", "b", "c"):
        t.make_cm(name)
    first = t.ok(t.api.get(t.cm(), accept=TABLE, limit=2)).json
    t.equal((2, 1), (len(first["rows"]), first["metadata"]["remainingItemCount"]))
    second = t.ok(t.api.get(t.cm(), accept=TABLE, limit=2, **{"continue": first["metadata"]["continue"]})).json
    t.equal(["c"], [row["cells"][0] for row in second["rows"]])


@case
def metadata_alone_on_demand(t: T):
    t.make_cm("a", {"x": "1"}, labels={"k": "v"})
    one = t.ok(t.api.get(t.cm("a"), accept=PARTIAL)).json
    t.has({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a", "labels": {"k": "v"}}}, one)
    t.true("data" not in one, "no data")
    many = t.ok(t.api.get(t.cm(), accept=PARTIAL_LIST)).json
    t.equal(("PartialObjectMetadataList", "meta.k8s.io/v1", ["a"]), (many["kind"], many["apiVersion"], [item["metadata"]["name"] for item in many["items"]]))
    t.true("data" not in many["items"][0], "no data in lists either")


@case
def every_answer_has_an_audit_id_and_says_json(t: T):
    answer = t.ok(t.api.get("/api/v1/namespaces/default"))
    t.equal("application/json", answer.headers["Content-Type"])
    t.true(answer.headers.get("Cache-Control") == "no-cache, private", "answers must not be cached")


@case
def long_answers_may_be_compressed(t: T):
    """A client that accepts gzip may get it; others never do."""
    t.make_cm("a", {"x": "y" * 300_000})
    answer = t.ok(t.api.get(t.cm("a"), headers={"Accept-Encoding": "gzip"}))
    body = gzip.decompress(answer.body) if answer.headers.get("Content-Encoding") == "gzip" else answer.body
    t.true(body.startswith(b'{"kind":"ConfigMap"') or b'"kind":"ConfigMap"' in body, "the object")
    t.true(t.api.get(t.cm("a")).headers.get("Content-Encoding") is None, "not unasked")


@case
def connection_is_kept(t: T):
    first = t.ok(t.api.get("/version"))
    held = t.api._connection.sock
    t.ok(t.api.get("/version"))
    t.true(held is not None and t.api._connection.sock is held and first.headers.get("Connection") != "close", "one connection for both")


@case
def subject_access_reviews_answer(t: T):
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": t.ns}}}
    answer = t.ok(t.api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body), 201)
    t.equal(True, answer["status.allowed"])
