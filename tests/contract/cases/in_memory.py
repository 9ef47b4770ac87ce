"""What kube/memory does where it deliberately differs from the real server. Not run against the real one."""

from contract.cases.custom import CRDS, definition
from contract.suite import T, case


@case
def new_nodes_have_no_taint_that_nobody_would_take_away(t: T):
    """The real server leaves that to the node lifecycle controller, which does not run here."""
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
