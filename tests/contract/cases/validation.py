"""Names, labels, annotations, amounts: refused values, with their messages and causes."""

from contract.suite import T, case, pod

SUBDOMAIN = ("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character "
             "(e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')")
LABEL = ("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character "
         "(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')")
QUALIFIED = ("name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
             "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')")
VALUE = ("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
         "(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')")


@case
def name_must_be_a_subdomain(t: T):
    for name in ("A", "a_b", "-a", "a-", "a..b", ".a"):
        answer = t.api.post(t.cm(), {"metadata": {"name": name}})
        t.invalid(answer, "ConfigMap", name, ("FieldValueInvalid", "metadata.name", f'Invalid value: "{name}": {SUBDOMAIN}'))


@case
def name_may_have_253_characters(t: T):
    t.make_cm("a" * 253)
    answer = t.api.post(t.cm(), {"metadata": {"name": "a" * 254}})
    t.invalid(answer, "ConfigMap", "a" * 254, ("FieldValueInvalid", "metadata.name", f'Invalid value: "{"a" * 254}": must be no more than 253 characters'))


@case
def namespace_name_must_be_a_label(t: T):
    answer = t.api.post("/api/v1/namespaces", {"metadata": {"name": "a.b"}})
    t.invalid(answer, "Namespace", "a.b", ("FieldValueInvalid", "metadata.name", 'Invalid value: "a.b": must not contain dots'))
    answer = t.api.post("/api/v1/namespaces", {"metadata": {"name": "A"}})
    t.invalid(answer, "Namespace", "A", ("FieldValueInvalid", "metadata.name", f'Invalid value: "A": {LABEL}'))
    answer = t.api.post("/api/v1/namespaces", {"metadata": {"name": "a" * 64}})
    long = f'Invalid value: "{"a" * 64}": must be no more than 63 characters'
    t.invalid(answer, "Namespace", "a" * 64, ("FieldValueInvalid", "metadata.name", long), ("FieldValueInvalid", "metadata.labels", long))


@case
def names_of_rbac_kinds_are_path_segments(t: T):
    made = t.made(t.api.post(t.group("rbac.authorization.k8s.io/v1", "roles"), {"metadata": {"name": "system:Some_Role"}, "rules": []}))
    t.equal("system:Some_Role", made["metadata"]["name"])
    t.equal(200, t.api.get(t.group("rbac.authorization.k8s.io/v1", "roles", "system:Some_Role")).status)
    answer = t.api.post(t.group("rbac.authorization.k8s.io/v1", "roles"), {"metadata": {"name": "a/b"}, "rules": []})
    t.refused(answer, 422, "Invalid", 'Role.rbac.authorization.k8s.io "a/b" is invalid: metadata.name: Invalid value: "a/b": may not contain \'/\'')


@case
def label_value_must_fit(t: T):
    for value in ("a b", "-a", "ä"):
        answer = t.api.post(t.cm(), {"metadata": {"name": "a", "labels": {"k": value}}})
        t.invalid(answer, "ConfigMap", "a", ("FieldValueInvalid", "metadata.labels", f'Invalid value: "{value}": {VALUE}'))
    answer = t.api.post(t.cm(), {"metadata": {"name": "a", "labels": {"k": "v" * 64}}})
    t.invalid(answer, "ConfigMap", "a", ("FieldValueInvalid", "metadata.labels", f'Invalid value: "{"v" * 64}": must be no more than 63 characters'))


@case
def label_key_must_be_a_qualified_name(t: T):
    answer = t.api.post(t.cm(), {"metadata": {"name": "a", "labels": {"a b": "v"}}})
    t.invalid(answer, "ConfigMap", "a", ("FieldValueInvalid", "metadata.labels", f'Invalid value: "a b": {QUALIFIED}'))
    answer = t.api.post(t.cm(), {"metadata": {"name": "a", "labels": {"a/b/c": "v"}}})
    t.refused(answer, 422, "Invalid")
    answer = t.api.post(t.cm(), {"metadata": {"name": "a", "labels": {"A_B/c": "v"}}})
    t.invalid(answer, "ConfigMap", "a", ("FieldValueInvalid", "metadata.labels", f'Invalid value: "A_B/c": prefix part {SUBDOMAIN}'))
    t.make_cm("b", labels={"example.com/Good_Key.1": "Good_Value.1", "plain": ""})


@case
def every_finding_is_in_one_answer(t: T):
    answer = t.api.post(t.cm(), {"metadata": {"name": "A", "labels": {"k": "a b"}, "annotations": {"a b": "v"}}})
    t.invalid(answer, "ConfigMap", "A",
              ("FieldValueInvalid", "metadata.name", f'Invalid value: "A": {SUBDOMAIN}'),
              ("FieldValueInvalid", "metadata.labels", f'Invalid value: "a b": {VALUE}'),
              ("FieldValueInvalid", "metadata.annotations", f'Invalid value: "a b": {QUALIFIED}'))


@case
def annotations_may_have_256_kilobytes(t: T):
    t.make_cm("a", annotations={"k": "v" * (256 * 1024 - 1)})
    answer = t.api.post(t.cm(), {"metadata": {"name": "b", "annotations": {"k": "v" * (256 * 1024)}}})
    t.invalid(answer, "ConfigMap", "b", ("FieldValueTooLong", "metadata.annotations", "Too long: may not be more than 262144 bytes"))
    t.refused(t.api.merge(t.cm("a"), {"metadata": {"annotations": {"another": "v"}}}), 422, "Invalid")


@case
def annotation_keys_are_compared_in_lower_case(t: T):
    """An annotation's prefix may have upper case letters, a label's may not."""
    t.make_cm("a", annotations={"Example.COM/key": "any text\nat all"})


@case
def generated_name_is_validated(t: T):
    answer = t.api.post(t.cm(), {"metadata": {"generateName": "A_"}})
    t.ok(answer, 422)
    causes = answer["details.causes"]
    t.equal(["metadata.generateName", "metadata.name"], sorted(cause["field"] for cause in causes))


@case
def owner_references_must_be_whole(t: T):
    answer = t.api.post(t.cm(), {"metadata": {"name": "a", "ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]}})
    t.ok(answer, 422)
    t.equal(["apiVersion", "kind", "name", "uid"], [cause["field"].removeprefix("metadata.ownerReferences.") for cause in answer["details.causes"]])


@case
def only_one_owner_may_control(t: T):
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "11111111-1111-4111-8111-111111111111", "controller": True}
    answer = t.api.post(t.cm(), {"metadata": {"name": "a", "ownerReferences": [owner, {**owner, "name": "p", "uid": "21111111-1111-4111-8111-111111111111"}]}})
    t.refused(answer, 422, "Invalid")
    t.equal("metadata.ownerReferences", answer["details.causes.0.field"])


@case
def finalizers_must_be_qualified(t: T):
    answer = t.api.post(t.cm(), {"metadata": {"name": "a", "finalizers": ["not a name"]}})
    t.refused(answer, 422, "Invalid")
    t.equal("metadata.finalizers", answer["details.causes.0.field"])


@case
def names_and_uids_are_immutable(t: T):
    made = t.make_cm("a")
    t.refused(t.api.merge(t.cm("a"), {"metadata": {"name": "b"}}), 400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)")
    t.refused(t.api.merge(t.cm("a"), {"metadata": {"namespace": "other"}}), 400, "BadRequest", "the namespace of the provided object does not match the namespace sent on the request")
    t.refused(t.api.merge(t.cm("a"), {"metadata": {"uid": "11111111-1111-4111-8111-111111111111"}}), 422, "Invalid")
    t.equal(made["metadata"]["uid"], t.api.get(t.cm("a"))["metadata.uid"])


@case
def config_map_keys_must_fit(t: T):
    answer = t.api.post(t.cm(), {"metadata": {"name": "a"}, "data": {"a b": "v"}})
    text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
    t.invalid(answer, "ConfigMap", "a", ("FieldValueInvalid", "data[a b]", f'Invalid value: "a b": {text}'))


@case
def pod_needs_containers(t: T):
    answer = t.api.post(t.pods(), {"metadata": {"name": "a"}, "spec": {}})
    t.invalid(answer, "Pod", "a", ("FieldValueRequired", "spec.containers", "Required value"))
    answer = t.api.post(t.pods(), {"metadata": {"name": "a"}})
    t.invalid(answer, "Pod", "a", ("FieldValueRequired", "spec.containers", "Required value"))


@case
def containers_need_names_and_images(t: T):
    answer = t.api.post(t.pods(), {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "x"}, {"image": "y"}]}})
    t.invalid(answer, "Pod", "a", ("FieldValueRequired", "spec.containers[0].image", "Required value"), ("FieldValueRequired", "spec.containers[1].name", "Required value"))


@case
def container_names_are_unique_labels(t: T):
    container = {"name": "x", "image": "y"}
    answer = t.api.post(t.pods(), {"metadata": {"name": "a"}, "spec": {"containers": [container, container]}})
    t.invalid(answer, "Pod", "a", ("FieldValueDuplicate", "spec.containers[1].name", 'Duplicate value: "x"'))
    answer = t.api.post(t.pods(), {"metadata": {"name": "a"}, "spec": {"containers": [{**container, "name": "X"}]}})
    t.invalid(answer, "Pod", "a", ("FieldValueInvalid", "spec.containers[0].name", f'Invalid value: "X": {LABEL}'))


@case
def requests_may_not_exceed_limits(t: T):
    answer = t.api.post(t.pods(), pod("a", container={"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}))
    t.invalid(answer, "Pod", "a", ("FieldValueInvalid", "spec.containers[0].resources.requests", 'Invalid value: "2": must be less than or equal to cpu limit of 1'))


@case
def extended_resources_are_whole_and_equal_to_their_limit(t: T):
    answer = t.api.post(t.pods(), pod("a", container={"resources": {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "2"}}}))
    t.invalid(answer, "Pod", "a", ("FieldValueInvalid", "spec.containers[0].resources.requests", 'Invalid value: "1": must be equal to example.com/gpu limit of 2'))
    answer = t.api.post(t.pods(), pod("a", container={"resources": {"requests": {"example.com/gpu": "500m"}, "limits": {"example.com/gpu": "500m"}}}))
    t.ok(answer, 422)
    fields = sorted({cause["field"] for cause in answer["details.causes"]})
    t.equal(["spec.containers[0].resources.limits[example.com/gpu]", "spec.containers[0].resources.requests[example.com/gpu]"], fields)
    t.equal('Invalid value: "500m": must be an integer', answer["details.causes.0.message"])
    answer = t.api.post(t.pods(), pod("a", container={"resources": {"requests": {"example.com/gpu": "1"}}}))
    t.invalid(answer, "Pod", "a", ("FieldValueRequired", "spec.containers[0].resources.limits", "Required value: Limit must be set for non overcommitable resources"))


@case
def batch_resources_of_the_contract_are_accepted(t: T):
    amounts = {"kubernetes.io/batch-cpu": "1500", "kubernetes.io/batch-memory": "2Gi"}
    made = t.make_pod("a", container={"resources": {"requests": amounts, "limits": amounts}})
    t.equal({"requests": amounts, "limits": amounts}, made["spec"]["containers"][0]["resources"])


@case
def negative_amounts_are_refused(t: T):
    answer = t.api.post(t.pods(), pod("a", container={"resources": {"limits": {"cpu": "-1"}}}))
    t.ok(answer, 422)
    t.true({"reason": "FieldValueInvalid", "message": 'Invalid value: "-1": must be greater than or equal to 0', "field": "spec.containers[0].resources.limits[cpu]"} in answer["details.causes"],
           "the limit is named")


@case
def amount_that_is_no_quantity_is_400(t: T):
    answer = t.api.post(t.pods(), pod("a", container={"resources": {"limits": {"cpu": "much"}}}))
    t.refused(answer, 400, "BadRequest", "Pod in version \"v1\" cannot be handled as a Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")


@case
def unknown_words_are_refused_with_those_that_exist(t: T):
    answer = t.api.post(t.pods(), pod("a", spec={"restartPolicy": "Sometimes"}))
    t.invalid(answer, "Pod", "a", ("FieldValueNotSupported", "spec.restartPolicy", 'Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'))
    answer = t.api.post(t.pods(), pod("a", container={"imagePullPolicy": "Often"}))
    t.invalid(answer, "Pod", "a", ("FieldValueNotSupported", "spec.containers[0].imagePullPolicy", 'Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"'))


@case
def taints_need_an_effect(t: T):
    name = t.name("node")
    answer = t.api.post(t.node(), {"metadata": {"name": name}, "spec": {"taints": [{"key": "k", "value": "v"}]}})
    t.invalid(answer, "Node", name, ("FieldValueRequired", "metadata.taints[0].effect", "Required value"))
    twice = {"key": "k", "value": "v", "effect": "NoSchedule"}
    answer = t.api.post(t.node(), {"metadata": {"name": name}, "spec": {"taints": [twice, {**twice, "value": "w"}]}})
    t.refused(answer, 422, "Invalid")
    t.equal(("FieldValueDuplicate", "metadata.taints[1]"), (answer["details.causes.0.reason"], answer["details.causes.0.field"]))


@case
def lease_durations_are_positive(t: T):
    answer = t.api.post(t.group("coordination.k8s.io/v1", "leases"), {"metadata": {"name": "a"}, "spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}})
    t.invalid(answer, "Lease", "a", ("FieldValueInvalid", "spec.leaseDurationSeconds", "Invalid value: 0: must be greater than 0"),
              ("FieldValueInvalid", "spec.leaseTransitions", "Invalid value: -1: must be greater than or equal to 0"), group="coordination.k8s.io")


@case
def budget_takes_one_of_two_bounds(t: T):
    answer = t.api.post(t.group("policy/v1", "poddisruptionbudgets"), {"metadata": {"name": "a"}, "spec": {"minAvailable": 1, "maxUnavailable": 1, "selector": {}}})
    t.refused(answer, 422, "Invalid")
    t.equal("spec", answer["details.causes.0.field"])


@case
def deployment_selector_must_match_its_template(t: T):
    template = {"metadata": {"labels": {"app": "other"}}, "spec": {"containers": [{"name": "x", "image": "y"}]}}
    body = {"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template}}
    answer = t.api.post(t.group("apps/v1", "deployments"), body)
    t.invalid(answer, "Deployment", "a", ("FieldValueInvalid", "spec.template.metadata.labels", 'Invalid value: {"app":"other"}: `selector` does not match template `labels`'), group="apps")


@case
def empty_annotation_and_label_maps_vanish_on_update(t: T):
    t.make_cm("a", labels={"k": "v"}, annotations={"k": "v"})
    answer = t.ok(t.api.merge(t.cm("a"), {"metadata": {"labels": {"k": None}, "annotations": {"k": None}}}))
    t.true("labels" not in answer["metadata"] and "annotations" not in answer["metadata"], "empty maps are not kept")


SELECTOR_PROBLEMS = [
    ({"key": "a", "operator": "In"}, ("FieldValueRequired", "values", "Required value: must be specified when `operator` is 'In' or 'NotIn'")),
    ({"key": "a", "operator": "NotIn", "values": []}, ("FieldValueRequired", "values", "Required value: must be specified when `operator` is 'In' or 'NotIn'")),
    ({"key": "a", "operator": "Exists", "values": ["x"]}, ("FieldValueForbidden", "values", "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'")),
    ({"key": "a", "operator": "DoesNotExist", "values": ["x"]}, ("FieldValueForbidden", "values", "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'")),
    ({"key": "a", "operator": "Gt", "values": ["1"]}, ("FieldValueInvalid", "operator", 'Invalid value: "Gt": not a valid selector operator')),
]


@case
def selectors_of_budgets_are_checked(t: T):
    path = t.group("policy/v1", "poddisruptionbudgets")
    for expression, (reason, member, message) in SELECTOR_PROBLEMS:
        answer = t.api.post(path, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchExpressions": [expression]}}})
        t.invalid(answer, "PodDisruptionBudget", "b", (reason, f"spec.selector.matchExpressions[0].{member}", message), group="policy")
    for expression, place in (({"key": "a b", "operator": "Exists"}, "key"), ({"key": "a", "operator": "In", "values": ["ok", "a b"]}, "values[1]")):
        answer = t.api.post(path, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchExpressions": [expression]}}})
        t.equal(f"spec.selector.matchExpressions[0].{place}", t.ok(answer, 422)["details.causes.0.field"])
    answer = t.api.post(path, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a b": "c"}}}})
    t.equal("spec.selector.matchLabels", t.ok(answer, 422)["details.causes.0.field"])


@case
def selectors_of_deployments_are_checked(t: T):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "m", "image": "i"}]}}
    for expression, (reason, member, message) in SELECTOR_PROBLEMS:
        answer = t.api.post(t.group("apps/v1", "deployments"), {"metadata": {"name": "d"}, "spec": {"selector": {"matchExpressions": [expression]}, "template": template}})
        causes = t.ok(answer, 422)["details.causes"]
        t.equal({"reason": reason, "message": message, "field": f"spec.selector.matchExpressions[0].{member}"}, causes[0])
        t.equal(("spec.selector", True), (causes[1]["field"], causes[1]["message"].endswith(": invalid label selector")))


@case
def data_in_base64_is_read_as_go_reads_it(t: T):
    """Line ends are ignored and not kept; padding is required."""
    put = lambda text: t.api.post(t.core("secrets"), {"metadata": {"name": "s"}, "data": {"a": text}}, dryRun="All")
    for text, kept in {"YQ==": "YQ==", "YQ=\n=": "YQ==", "YW\r\nJj\n": "YWJj", "YQ==\n": "YQ==", "\n": "", "YR==": "YQ=="}.items():
        t.equal(kept, t.ok(put(text), 201)["data.a"], repr(text))
    for text, byte in {"YQ": 0, "YQ=": 3, "Y Q==": 1, "====": 0, "-_-_": 0, "YQ==YQ==": 4}.items():
        t.refused(put(text), 400, "BadRequest", f'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte {byte}')
    answer = t.api.post(t.cm(), {"metadata": {"name": "c"}, "binaryData": {"a": "YQ"}})
    t.refused(answer, 400, "BadRequest", 'ConfigMap in version "v1" cannot be handled as a ConfigMap: illegal base64 data at input byte 0')
