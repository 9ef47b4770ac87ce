"""Enforcement that an API server does itself: permissions, quotas, and added defaults."""

from contract.suite import T, case, pod


@case
def an_impersonated_user_has_its_own_rights(t: T):
    t.ns
    answer = t.api.get(t.cm(), headers={"Impersonate-User": "nobody-at-all"})
    t.refused(answer, 403, "Forbidden", f'configmaps is forbidden: User "nobody-at-all" cannot list resource "configmaps" in API group "" in the namespace "{t.ns}"')


@case
def pods_beyond_a_resource_quota_are_refused(t: T):
    made = t.made(t.api.post(t.core("resourcequotas"), {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}))
    t.ok(t.api.put(t.core("resourcequotas", "none") + "/status", {**made, "status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}))
    answer = t.api.post(t.pods(), pod("p"))
    t.refused(answer, 403, "Forbidden")
    t.true("quota" in answer["message"], answer["message"])


@case
def pods_get_defaults_from_a_limit_range(t: T):
    limits = [{"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "250m"}}]
    t.made(t.api.post(t.core("limitranges"), {"metadata": {"name": "defaults"}, "spec": {"limits": limits}}))
    t.has({"limits": {"cpu": "500m"}, "requests": {"cpu": "250m"}}, t.make_pod("p")["spec"]["containers"][0].get("resources"))


@case
def a_service_gets_an_address(t: T):
    made = t.made(t.api.post(t.core("services"), {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}))
    t.true(made["spec"]["clusterIP"] not in ("", "None"), f"clusterIP {made['spec']['clusterIP']}")


@case
def the_writer_of_a_field_is_recorded(t: T):
    t.true(t.make_cm("a", {"x": "1"})["metadata"].get("managedFields"), "metadata.managedFields")
