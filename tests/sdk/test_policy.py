"""A capture policy says what happens to which field, and its record says that it did."""

import hashlib
from typing import Any

import pytest
from cryptography.fernet import Fernet

from capture_sdk import (
    Action,
    CapturePolicy,
    Client,
    Config,
    ConfigError,
    Keys,
    MemoryTransport,
    Rule,
    decrypt,
)
from capture_sdk.freeze import unpack
from capture_sdk.prompt import PromptStatus
from tests.build import ENVELOPE, REMAINDER, Seat

DIGEST = Keys(digest=b"an installation's own key")


def recorded(*rules: Rule, default: Action = Action.CAPTURE, keys: Keys | None = None, **turn: Any) -> Any:
    """The record of one turn under a policy."""
    transport = MemoryTransport()
    policy = CapturePolicy(default, rules, keys or Keys())
    Seat(Client(Config(policy=policy), transport=transport)).play(1, **turn)
    (record,) = transport.records()
    return record


def known(*rules: Rule, knowledge: Any, **options: Any) -> Any:
    return unpack(recorded(*rules, knowledge=knowledge, **options).knowledge)


CARDS = {
    "hole": {"cards": ["Ah", "Kd"]},
    "seats": [{"name": "kim", "stack": 900}, {"name": "sam", "stack": 100}],
}

NO_STACKS = [{"name": "kim", "stack": None}, {"name": "sam", "stack": None}]


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("knowledge.hole.cards", {**CARDS, "hole": {"cards": None}}),
        ("knowledge.hole.cards.1", {**CARDS, "hole": {"cards": ["Ah", None]}}),
        ("knowledge.seats.*.stack", {**CARDS, "seats": NO_STACKS}),
        ("knowledge.**.name", {**CARDS, "seats": [{"name": None, "stack": 900}, {"name": None, "stack": 100}]}),
        ("stack", {**CARDS, "seats": NO_STACKS}),
        ("**.0.name", {**CARDS, "seats": [{"name": None, "stack": 900}, {"name": "sam", "stack": 100}]}),
        ("knowledge.*.0", {**CARDS, "seats": [None, {"name": "sam", "stack": 100}]}),
        ("decision.cards", CARDS),
        ("Stack", CARDS),
    ],
)  # fmt: skip
def test_a_path_names_what_it_names_and_nothing_else(path: str, left: Any) -> None:
    assert known(Rule(path, "drop"), knowledge=CARDS) == left


def test_a_key_with_a_dot_in_it_is_written_with_a_backslash() -> None:
    assert known(Rule(r"knowledge.a\.b.c", "drop"), knowledge={"a.b": {"c": 1}, "a": {"b": {"c": 2}}}) == {
        "a.b": {"c": None},
        "a": {"b": {"c": 2}},
    }


@pytest.mark.parametrize(
    ("action", "left"),
    [
        ("capture", "two pair"),
        ("drop", None),
        ("mask", "[REDACTED:read:8]"),
        ("hash", "[HASHED:read:8]"),
        (
            "metadata_only",
            {"$metadata": {"type": "str", "bytes": 8, "sha256": hashlib.sha256(b"two pair").hexdigest()}},
        ),
    ],
)
def test_each_action_does_what_it_says(action: str, left: Any) -> None:
    record = recorded(Rule("read", action), knowledge={"read": "two pair", "pot": 3})
    assert unpack(record.knowledge) == {"read": left, "pot": 3}
    assert record.redactions == {
        "mask": 1,
        **({} if action == "capture" else {action: 1 + (action == "mask")}),
    }


def test_the_first_rule_that_matches_decides() -> None:
    rules = (Rule("knowledge.me.*", "capture"), Rule("name", "drop"))
    assert known(*rules, knowledge={"me": {"name": "vera"}, "him": {"name": "kim"}}) == {
        "me": {"name": "vera"},
        "him": {"name": None},
    }


def test_capture_keeps_a_value_whose_name_only_looks_secret_but_not_a_key_in_it() -> None:
    rule = Rule("knowledge.tell_token", "capture")
    assert known(rule, knowledge={"tell_token": "tilt"}) == {"tell_token": "tilt"}
    assert "REDACTED" in known(rule, knowledge={"tell_token": "mail me@example.org"})["tell_token"]


def test_a_keyed_hash_lets_equal_values_be_matched_within_one_installation() -> None:
    values = {"a": "kim", "b": "kim", "c": "sam"}
    left = known(Rule("knowledge.*", "hash", "who"), knowledge=values, keys=DIGEST)
    assert left["a"] == left["b"] != left["c"]
    assert left["a"].startswith("[HASHED:who:3:")
    other = known(
        Rule("knowledge.*", "hash", "who"), knowledge=values, keys=Keys(digest=b"another key, as long")
    )
    assert other["a"] != left["a"]


def test_an_encrypted_value_is_read_with_the_key_and_with_no_other() -> None:
    key, other = Fernet.generate_key(), Fernet.generate_key()
    left = known(Rule("hole", "encrypt"), knowledge={"hole": ["Ah", "Kd"]}, keys=Keys(encryption=key))
    assert left["hole"].startswith("[ENCRYPTED:hole:")
    assert unpack(decrypt(left["hole"], key)) == ["Ah", "Kd"]
    with pytest.raises(ValueError, match="another key"):
        decrypt(left["hole"], other)
    with pytest.raises(ValueError, match="not an"):
        decrypt("[REDACTED:hole:3]", key)


def test_an_artifact_is_kept_apart_in_the_same_record() -> None:
    record = recorded(Rule("board", "artifact_only"), knowledge={"board": "Ah Kd 7c"})
    about = unpack(record.knowledge)["board"]["$artifact"]  # type: ignore[index]
    assert (about["type"], about["bytes"]) == ("str", 8)
    assert record.artifacts == {about["sha256"]: b"Ah Kd 7c"}


def test_a_default_action_stands_for_every_value_that_no_rule_names() -> None:
    record = recorded(
        Rule("knowledge.pot", "capture"), default=Action.DROP, knowledge={"pot": 3, "me": {"a": [1]}}
    )
    assert unpack(record.knowledge) == {"pot": 3, "me": {"a": [None]}}
    assert (record.prompt, record.response) == (None, None)
    assert record.rewritten == ("prompt", "response")


def test_prompt_and_response_are_byte_faithful_unless_a_policy_names_them() -> None:
    telling = f"my key is sk-ant-api03-{'Zx9' * 12}"
    free = recorded(remainder=telling, response=telling)
    assert free.prompt.text() == f"{ENVELOPE}\n{telling}"
    assert (free.response, free.rewritten) == (telling, ())
    assert free.prompt.status() is PromptStatus.VERIFIED
    bound = recorded(Rule("prompt", "capture"), Rule("response", "mask"), remainder=telling, response=telling)
    assert "Zx9" not in bound.prompt.text()
    assert bound.response.startswith("[REDACTED:response:")
    assert bound.rewritten == ("prompt", "response")
    assert bound.prompt.status() is PromptStatus.MISMATCHED  # never called what the model saw


def test_a_policy_that_names_a_prompt_and_changes_nothing_leaves_it_verified() -> None:
    record = recorded(Rule("prompt", "capture"))
    assert record.prompt.text() == f"{ENVELOPE}\n{REMAINDER}"
    assert (record.prompt.status(), record.rewritten) == (PromptStatus.VERIFIED, ())


def test_a_secret_across_the_seam_of_a_prompt_is_found() -> None:
    key = f"sk-ant-api03-{'Zx9' * 12}"
    record = recorded(Rule("prompt", "capture"), envelope="A" * 300 + " " + key[:20], remainder=key[20:])
    assert "Zx9" in str(key)
    assert "A" * 300 in record.prompt.text()
    joined = recorded(Rule("prompt", "capture"), envelope=key, remainder="x")
    assert "Zx9" not in joined.prompt.text()


def test_the_version_of_the_rules_goes_with_the_record() -> None:
    plain = recorded().policy
    ruled = recorded(Rule("pot", "drop")).policy
    assert plain == CapturePolicy().version
    assert ruled == CapturePolicy(rules=[Rule("pot", "drop")]).version != plain
    assert ruled != recorded(Rule("pot", "mask")).policy


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Rule("pot", "shred"), "shred"),
        (lambda: Rule("", "drop"), "dotted text"),
        (lambda: Rule("a..b", "drop"), "empty step"),
        (lambda: Rule("a.", "drop"), "ends in a dot"),
        (lambda: CapturePolicy("hide"), "hide"),
        (lambda: CapturePolicy(rules=["pot"]), "Rule objects"),  # type: ignore[list-item]
        (lambda: CapturePolicy(rules=[Rule("a", "encrypt")]), "Keys"),
        (lambda: Keys(digest=b"short"), "16 or more"),
        (lambda: Keys(encryption=b"no fernet key"), "Fernet"),
    ],
)
def test_a_wrong_policy_is_refused_at_once_with_the_value_and_the_remedy(make: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        make()


def test_keys_never_show_in_a_repr() -> None:
    policy = CapturePolicy(keys=Keys(digest=b"hunter2hunter2hunter2", encryption=Fernet.generate_key()))
    assert "hunter2" not in repr(policy)
    assert "hunter2" not in repr(Config(policy=policy, redis_url="redis://host"))


def test_no_field_of_a_record_or_a_charge_passes_beside_the_redactor() -> None:
    secret = "hunter2hunter2"
    url = f"https://bot:{secret}@models.example.org/v1"
    transport = MemoryTransport()
    at = Seat(Client(transport=transport), version=url)
    with at.turn(1) as turn:
        turn.knows(password=secret)
        turn.attempt("500", error=f"could not reach {url}", provider=url)
        turn.response("fold", model=url, provider=url, routing=url, usage={"api_key": secret, url: 1})
        turn.parsed("raise", 3)
        turn.adjusted("clamp", {"password": secret}, f"see {url}", f"because {url}")
        at.outbox.send({"action": "fold", "password": secret})
        at.outbox._send = _fail
        with pytest.raises(ConnectionError):
            at.outbox.send({"url": url})
    assert at.client.flush(5)
    (record,) = transport.records()
    assert secret not in repr(record)
    turn.fallback(f"no answer from {url}")
    assert secret not in repr(turn.charge())


def _fail(message: Any) -> None:
    raise ConnectionError
