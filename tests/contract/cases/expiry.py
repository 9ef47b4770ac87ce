"""Lists of revisions that the server has forgotten."""

import base64
import json
from dataclasses import dataclass

from contract.client import Answer
from contract.suite import Skipped, T, case_alone

INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the "
    "continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
)
TOO_OLD = "The resourceVersion for the provided list is too old."


@dataclass
class Forgotten:
    """Five objects; the first page showed two of them, and the others changed before that page expired."""

    t: T
    first: Answer  # the page
    refused: Answer  # the answer to its continue token


def _forgotten(t: T) -> Forgotten:
    if t.run.history is None:
        raise Skipped("cannot expire revisions of this server: give --etcd")

    def make() -> Forgotten:
        own = t.run.owner()
        for name in ("a", "b", "c", "d", "e"):
            own.make_cm(name, {"x": "old"}, labels={"run": "forgotten"})
        first = own.ok(_page(own, None))
        own.ok(own.api.merge(own.cm("c"), {"data": {"x": "new"}}))
        own.ok(own.api.delete(own.cm("d")))
        own.make_cm("aa", {"x": "new"}, labels={"run": "forgotten"})
        own.make_cm("cc", {"x": "new"}, labels={"run": "forgotten"})
        refused = own.run.history.until(own, lambda: _page(own, first["metadata.continue"]))
        return Forgotten(own, first, refused)

    return t.run.once("forgotten", make)


def _page(t: T, token: str | None, limit: int = 2) -> Answer:
    return t.api.get(t.cm(), limit=limit, labelSelector="run=forgotten", **({"continue": token} if token else {}))


def _inside(token: str) -> dict:
    return json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))


def _shown(answer: Answer) -> list[tuple[str, str]]:
    return [(item["metadata"]["name"], item["data"]["x"]) for item in answer["items"]]


@case_alone
def forgotten_page_is_410_and_names_a_token_to_go_on_by(t: T):
    known = _forgotten(t)
    body = known.refused.json
    t.has({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired", "message": INCONSISTENT}, body)
    t.true("details" not in body, "no details")
    t.equal(["continue"], list(body["metadata"]))
    before, after = _inside(known.first["metadata.continue"]), _inside(body["metadata"]["continue"])
    t.equal({**before, "rv": -1}, after, "the same key, without a revision")


@case_alone
def token_without_a_revision_continues_with_the_current_state(t: T):
    known = _forgotten(t)
    now = t.ok(known.t.api.get(known.t.cm()))["metadata.resourceVersion"]
    rest = t.ok(_page(known.t, known.refused["metadata.continue"], limit=2))
    t.equal([("c", "new"), ("cc", "new")], _shown(rest), "changed, and created after the first page's key; objects created before it are missing")
    t.true(int(rest["metadata.resourceVersion"]) >= int(now), "at the present")
    last = t.ok(_page(known.t, rest["metadata.continue"], limit=2))
    t.equal([("e", "old")], _shown(last), "deleted objects are missing")
    t.equal(rest["metadata.resourceVersion"], last["metadata.resourceVersion"], "one revision from there on")
    t.true("continue" not in last["metadata"], "the end")


@case_alone
def exact_list_of_a_forgotten_revision_is_410(t: T):
    known = _forgotten(t)
    for query in ({"resourceVersionMatch": "Exact"}, {"resourceVersionMatch": "Exact", "limit": 2}, {"limit": 2}):
        answer = known.t.api.get(known.t.cm(), resourceVersion=known.first["metadata.resourceVersion"], **query)
        t.equal({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": TOO_OLD, "reason": "Expired", "code": 410}, answer.json, str(query))
    t.ok(known.t.api.get(known.t.cm(), resourceVersion=known.first["metadata.resourceVersion"]))
