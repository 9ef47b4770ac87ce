"""Strategic merge patch: lists merged by key, and its directives."""

from contract.suite import T, case, pod


def _two(t: T) -> None:
    t.made(t.api.post(t.group("apps/v1", "deployments"), {
        "metadata": {"name": "a"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [
                {"name": "one", "image": "i:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "ports": [{"containerPort": 80}, {"containerPort": 81}], "args": ["x", "y"]},
                {"name": "two", "image": "i:2"}], "nodeSelector": {"a": "b"}}}}}))


def _patch(t: T, spec: dict, code: int = 200, **options):
    return t.ok(t.api.strategic(t.group("apps/v1", "deployments", "a"), {"spec": {"template": {"spec": spec}}}, **options), code)


def _containers(answer) -> list:
    return answer["spec.template.spec.containers"]


@case
def containers_are_merged_by_name(t: T):
    _two(t)
    answer = _patch(t, {"containers": [{"name": "two", "image": "i:3"}]})
    t.equal([("one", "i:1"), ("two", "i:3")], [(c["name"], c["image"]) for c in _containers(answer)])


@case
def elements_that_a_patch_names_come_first(t: T):
    """New elements precede elements that the patch does not name: kubectl's order directive keeps the order."""
    _two(t)
    answer = _patch(t, {"containers": [{"name": "three", "image": "i:3"}]})
    t.equal(["three", "one", "two"], [c["name"] for c in _containers(answer)])


@case
def env_is_merged_by_name(t: T):
    _two(t)
    answer = _patch(t, {"containers": [{"name": "one", "env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]}]})
    t.equal({"A": "1", "B": "3", "C": "4"}, {e["name"]: e["value"] for e in _containers(answer)[0]["env"]})


@case
def ports_are_merged_by_container_port(t: T):
    _two(t)
    answer = _patch(t, {"containers": [{"name": "one", "ports": [{"containerPort": 81, "name": "admin"}]}]})
    t.equal({80: None, 81: "admin"}, {p["containerPort"]: p.get("name") for p in _containers(answer)[0]["ports"]})


@case
def args_are_replaced(t: T):
    _two(t)
    t.equal(["z"], _containers(_patch(t, {"containers": [{"name": "one", "args": ["z"]}]}))[0]["args"])


@case
def delete_directive_takes_an_element_away(t: T):
    _two(t)
    answer = _patch(t, {"containers": [{"name": "two", "$patch": "delete"}, {"name": "one", "env": [{"name": "A", "$patch": "delete"}]}]})
    t.equal(["one"], [c["name"] for c in _containers(answer)])
    t.equal([{"name": "B", "value": "2"}], _containers(answer)[0]["env"])


@case
def replace_directive_replaces_a_list(t: T):
    _two(t)
    answer = _patch(t, {"containers": [{"name": "new", "image": "n"}, {"$patch": "replace"}]})
    t.equal(["new"], [c["name"] for c in _containers(answer)])


@case
def replace_directive_replaces_a_map(t: T):
    _two(t)
    t.equal({"c": "d"}, _patch(t, {"nodeSelector": {"c": "d", "$patch": "replace"}})["spec.template.spec.nodeSelector"])


@case
def delete_directive_empties_a_map(t: T):
    _two(t)
    answer = _patch(t, {"nodeSelector": {"$patch": "delete"}})
    t.equal({}, answer.get("spec.template.spec.nodeSelector", {}))


@case
def maps_are_merged_and_null_removes(t: T):
    _two(t)
    t.equal({"c": "d"}, _patch(t, {"nodeSelector": {"c": "d", "a": None}})["spec.template.spec.nodeSelector"])


@case
def null_takes_a_list_away(t: T):
    _two(t)
    answer = _patch(t, {"containers": [{"name": "one", "env": None, "args": None}]})
    t.true("env" not in _containers(answer)[0] and "args" not in _containers(answer)[0], "both are gone")


@case
def element_order_directive_orders_the_list(t: T):
    _two(t)
    answer = _patch(t, {"$setElementOrder/containers": [{"name": "two"}, {"name": "three"}, {"name": "one"}], "containers": [{"name": "three", "image": "i"}]})
    t.equal(["two", "three", "one"], [c["name"] for c in _containers(answer)])


@case
def element_order_alone_orders_existing_elements(t: T):
    _two(t)
    answer = _patch(t, {"$setElementOrder/containers": [{"name": "two"}, {"name": "one"}], "containers": [{"name": "one", "image": "i:9"}]})
    t.equal(["two", "one"], [c["name"] for c in _containers(answer)])


@case
def element_order_without_the_patched_element_is_refused(t: T):
    _two(t)
    answer = t.api.strategic(t.group("apps/v1", "deployments", "a"), {"spec": {"template": {"spec": {
        "$setElementOrder/containers": [{"name": "one"}], "containers": [{"name": "three", "image": "i"}]}}}})
    t.true("doesn't match $setElementOrder list" in t.refused(answer, 500, None)["message"], "the directive is named")
    t.equal(["one", "two"], [c["name"] for c in t.api.get(t.group("apps/v1", "deployments", "a"))["spec.template.spec.containers"]])


@case
def finalizers_are_a_set(t: T):
    t.make_cm("a", finalizers=["example.com/a", "example.com/b"])
    answer = t.ok(t.api.strategic(t.cm("a"), {"metadata": {"finalizers": ["example.com/b", "example.com/c"]}}))
    t.equal(["example.com/a", "example.com/b", "example.com/c"], sorted(answer["metadata.finalizers"]))
    answer = t.ok(t.api.strategic(t.cm("a"), {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a", "example.com/c"]}}))
    t.equal(["example.com/b"], answer["metadata.finalizers"])
    answer = t.ok(t.api.strategic(t.cm("a"), {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/b"]}}))
    t.true("finalizers" not in answer["metadata"], "the last one is gone")


@case
def element_order_of_a_set(t: T):
    t.make_cm("a", finalizers=["example.com/a", "example.com/b"])
    answer = t.ok(t.api.strategic(t.cm("a"), {"metadata": {"$setElementOrder/finalizers": ["example.com/c", "example.com/b", "example.com/a"], "finalizers": ["example.com/c"]}}))
    t.equal(["example.com/c", "example.com/b", "example.com/a"], answer["metadata.finalizers"])
    t.ok(t.api.merge(t.cm("a"), {"metadata": {"finalizers": None}}))


@case
def owner_references_are_merged_by_uid(t: T):
    def owner(number: int, name: str) -> dict:
        return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": f"{number}1111111-1111-4111-8111-111111111111"}

    t.make_cm("a", ownerReferences=[owner(1, "x"), owner(2, "y")])
    answer = t.ok(t.api.strategic(t.cm("a"), {"metadata": {"ownerReferences": [{"$patch": "delete", "uid": owner(1, "")["uid"]}, {**owner(2, "y"), "controller": True}]}}))
    t.equal([{**owner(2, "y"), "controller": True}], answer["metadata.ownerReferences"])


@case
def conditions_are_merged_by_type(t: T):
    t.make_pod("p")
    t.ok(t.api.strategic(t.pods("p") + "/status", {"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Mine", "status": "True"}]}}))
    answer = t.ok(t.api.strategic(t.pods("p") + "/status", {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Up"}]}}))
    t.equal({"Ready": "True", "Mine": "True"}, {c["type"]: c["status"] for c in answer["status.conditions"]})


@case
def taints_of_nodes_are_replaced(t: T):
    """spec.taints has no merge key in Kubernetes: a patch replaces the whole list."""
    name = t.make_node(spec={"taints": [{"key": "a", "value": "1", "effect": "NoSchedule"}]})["metadata"]["name"]
    answer = t.ok(t.api.strategic(t.node(name), {"spec": {"taints": [{"key": "b", "value": "2", "effect": "NoExecute"}]}}))
    t.equal(["b"], [taint["key"] for taint in answer["spec.taints"]])


@case
def tolerations_are_replaced(t: T):
    _two(t)
    _patch(t, {"tolerations": [{"key": "a", "operator": "Exists"}]})
    answer = _patch(t, {"tolerations": [{"key": "b", "operator": "Exists"}]})
    t.equal([{"key": "b", "operator": "Exists"}], answer["spec.template.spec.tolerations"])


@case
def retain_keys_directive_drops_the_other_keys(t: T):
    _two(t)
    _patch(t, {"volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}]})
    answer = _patch(t, {"volumes": [{"$retainKeys": ["name", "configMap"], "name": "v", "configMap": {"name": "c"}}]})
    t.equal(["configMap", "name"], sorted(answer["spec.template.spec.volumes.0"]))


@case
def retain_keys_of_a_strategy(t: T):
    _two(t)
    path = t.group("apps/v1", "deployments", "a")
    answer = t.ok(t.api.strategic(path, {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}))
    t.equal({"type": "Recreate"}, answer["spec.strategy"])
    refused = t.api.strategic(path, {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": {"maxSurge": 1}}}})
    t.refused(refused, 400, "BadRequest", "invalid patch format of retainKeys")


@case
def unknown_directive_is_refused(t: T):
    _two(t)
    answer = t.api.strategic(t.group("apps/v1", "deployments", "a"), {"spec": {"template": {"spec": {"containers": [{"name": "one", "$patch": "explode"}]}}}})
    t.refused(answer, 500, None, "unknown patch type: explode in map: map[$patch:explode name:one]")


@case
def element_without_its_key_is_refused(t: T):
    _two(t)
    answer = t.api.strategic(t.group("apps/v1", "deployments", "a"), {"spec": {"template": {"spec": {"containers": [{"image": "i:9"}]}}}})
    t.refused(answer, 500, None, "map: map[image:i:9] does not contain declared merge key: name")


@case
def service_ports_are_merged_by_port(t: T):
    t.made(t.api.post(t.core("services"), {"metadata": {"name": "s"}, "spec": {"clusterIP": "None", "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}}))
    answer = t.ok(t.api.strategic(t.core("services", "s"), {"spec": {"ports": [{"port": 81, "name": "c"}]}}))
    t.equal({80: "a", 81: "c"}, {p["port"]: p["name"] for p in answer["spec.ports"]})


@case
def patch_of_a_pod_template_list_keeps_defaults(t: T):
    t.made(t.api.post(t.pods(), pod("p")))
    answer = t.ok(t.api.strategic(t.pods("p"), {"metadata": {"labels": {"x": "y"}}}))
    t.has({"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent"}, answer["spec.containers.0"])
