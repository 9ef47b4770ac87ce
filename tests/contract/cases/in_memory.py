"""Deliberate differences of kube/memory from the real server. These cases do not run against the real one."""

from contract.cases.custom import CRDS, definition
from contract.suite import T, case


@case
def new_nodes_have_no_taint_of_the_lifecycle_controller(t: T):
    """The real server leaves this to the node lifecycle controller, which does not run here."""
    t.true("taints" not in t.make_node()["spec"], "no taint")


@case
def sub_resources_left_out_are_refused_by_name(t: T):
    t.make_pod("p")
    for name in ("log", "exec", "resize"):
        answer = t.api.get(t.pods("p") + f"/{name}")
        t.refused(answer, 422, "Unsupported", f'the sub-resource "{name}" of pods is not served by this API server')


@case
def unknown_query_parameters_are_refused_by_name(t: T):
    t.refused(t.api.get(t.cm(), nonsense="1"), 400, "BadRequest", 'unknown query parameter "nonsense"')


@case
def custom_rules_in_cel_are_refused_by_name(t: T):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-validations": [{"rule": "true"}]}}}
    answer = t.api.post(CRDS, definition("cel.example.com", schema=schema))
    t.refused(answer, 422, "Invalid")
    t.true("CEL rules (x-kubernetes-validations) are not supported" in answer["message"], answer["message"])


@case
def conversion_webhooks_are_refused_by_name(t: T):
    body = definition("hook.example.com")
    body["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://localhost/"}}}
    answer = t.api.post(CRDS, body)
    t.refused(answer, 422, "Invalid")
    t.true("conversion webhooks are not supported" in answer["message"], answer["message"])


# group and version, plural, body without its name, text of the warning
NOT_DONE = (
    ("", "resourcequotas", {"spec": {"hard": {"pods": "1"}}}, "counts nothing against a resource quota"),
    ("", "limitranges", {"spec": {"limits": []}}, "applies no limit range"),
    ("", "services", {"spec": {"ports": [{"port": 80}]}}, "no service network"),
    ("rbac.authorization.k8s.io/v1", "roles", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}, "enforces no RBAC"),
    ("batch/v1", "jobs", {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "x", "image": "y:1"}]}}}}, "runs no controllers"),
)


@case
def unsupported_effects_of_an_object_give_a_warning(t: T):
    for group, plural, body, words in NOT_DONE:
        path = t.group(group, plural) if group else t.core(plural)
        answer = t.api.post(path, {"metadata": {"name": "a"}, **body})
        t.made(answer)
        t.equal(1, len(answer.warnings), plural)
        t.true(answer.warnings[0].startswith('299 - "') and words in answer.warnings[0], answer.warnings[0])
        t.equal([], t.api.merge(f"{path}/a", {"metadata": {"labels": {"a": "b"}}}).warnings, f"a label on {plural}")
        t.equal([], t.api.get(f"{path}/a").warnings, f"reading {plural}")


@case
def managed_fields_are_dropped_with_a_warning(t: T):
    fields = [{"manager": "m", "operation": "Update", "apiVersion": "v1", "time": "2024-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}}]
    answer = t.api.post(t.cm(), {"metadata": {"name": "a", "managedFields": fields}})
    t.true("managedFields" not in t.made(answer)["metadata"], "they are not kept")
    t.equal(['299 - "metadata.managedFields: this API server keeps none"'], answer.warnings)
    t.equal([], t.make_cm("b")["metadata"].get("managedFields", []))


@case
def every_impersonation_header_is_refused(t: T):
    for name in ("Impersonate-User", "Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-scopes"):
        answer = t.api.get(t.cm(), headers={name: "x"})
        t.refused(answer, 422, "Unsupported", f"impersonation (the header {name.lower()}, kubectl's --as) is not supported by this API server: every authenticated user may do everything")
