"""Secrets are gone before anything leaves, and nothing else is touched."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from capture_sdk.freeze import pack, unpack
from capture_sdk.redact import CapturePolicy, Keys, Redactor
from capture_sdk.redact.texts import spans
from tests.data import needs

KEY = "sk-ant-api03-" + "Zx9Qw7" * 8
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJyaXZlciJ9.c2lnbmF0dXJlLW9mLXRoZS1yaXZlcg"


def redacted(value: object, *, policy: CapturePolicy | None = None, known: tuple[str, ...] = ()) -> Any:
    """What is left of a value, as knowledge."""
    return unpack(Redactor(policy or CapturePolicy(), known).frozen(pack(value), "knowledge"))


def cases(*, masked: bool) -> list[dict[str, Any]]:
    """The recorded secret-like strings, of those to mask or those that must stay."""
    every = json.loads((needs("05-secrets") / "secret-strings.json").read_text())
    found = [each for each in every if each["should_mask"] is masked and (masked or each["strict"])]
    assert len(found) > 50
    return found


CARRIERS: dict[str, Callable[[str], Any]] = {
    "text": lambda text: text,
    "nested": lambda text: {"notes": [{"seen": text}]},
    "json": lambda text: json.dumps({"m": text}),
    "json in json": lambda text: json.dumps({"m": json.dumps({"m": text})}),
    "bytes": lambda text: text.encode(),
    "prose around": lambda text: f"He said:\n{text}\nand folded.",
}


@pytest.mark.parametrize("carrier", list(CARRIERS))
def test_every_recorded_secret_is_masked_in_every_carrier(carrier: str) -> None:
    passed = []
    for case in cases(masked=True):
        left = redacted(CARRIERS[carrier](case["text"]))
        text = left.decode() if isinstance(left, bytes) else json.dumps(left, ensure_ascii=False)
        if case["secret"].replace("\\", "") in text.replace("\\", ""):
            passed.append(case["id"])
        if carrier == "json":
            json.loads(left)
    assert passed == []


@pytest.mark.parametrize("carrier", list(CARRIERS))
def test_every_recorded_innocent_string_stays_byte_for_byte(carrier: str) -> None:
    values = {case["id"]: CARRIERS[carrier](case["text"]) for case in cases(masked=False)}
    assert [name for name, value in values.items() if redacted(value) != value] == []


def test_a_second_pass_changes_nothing() -> None:
    for case in cases(masked=True):
        once = redacted({"a": case["text"]})
        assert redacted(once) == once


@pytest.mark.parametrize(
    "name",
    [
        "password", "Password", "PASSWORD", "user_password", "userPassword", "user-password", "dbPassword2",
        "apiKey", "api_key", "api-key", "API_KEY", "X-Api-Key", "openai.api_key", "agentToken", "refresh_token",
        "Authorization", "proxy-authorization", "Set-Cookie", "cookie", "private_key", "privateKey", "PRIVATE-TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK", "client_secret", "SecretAccessKey", "account_key", "sessionid", "passphrase",
        "jwt", "sig", "pwd", "pаssword", "pass\u200bword", "ｐａｓｓｗｏｒｄ", "ſecret",
    ],
)  # fmt: skip
def test_a_secret_name_hides_its_value_in_every_spelling(name: str) -> None:
    for value in (
        "hunter2hunter2",
        123456,
        12.5,
        ["hunter2hunter2"],
        {"inner": "hunter2hunter2"},
        b"hunter2",
    ):
        left = json.dumps(redacted({"deep": [{name: value}]}), default=repr)
        assert "hunter2" not in left
        assert "123456" not in left
        assert "12.5" not in left


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens", "maxTokens", "tokens", "token_count", "total_tokens", "prompt_tokens", "tokenizer", "author",
        "authority", "keyboard", "monkey", "key", "turkey", "keystore", "secretary", "cookieBanner", "credentialsId",
        "access_token_url", "password_policy", "tokenLimit", "sessionCount", "passes", "compass", "signal", "design",
        "assignment", "chips", "tableId", "handNumber", "eos_token", "token_type", "secret_name", "keyStr",
    ],
)  # fmt: skip
def test_an_innocent_name_keeps_its_value(name: str) -> None:
    assert redacted({name: "river card"}) == {name: "river card"}


def test_empty_and_yes_or_no_values_are_not_secrets() -> None:
    value: dict[str, Any] = {"password": None, "token": "", "secret": False, "cookie": [], "api_key": {}}
    assert redacted(value) == value


@pytest.mark.parametrize(
    "text",
    [
        "1718000000250", "1718000000250123", "2026-12-01T10:47:08Z", "2026-12-01 10:47:08.123456", "10.0.0.1:6379",
        "stacks 4500 2300 1800 200", "pot 12000000, to call 350000", "hand #81000012345", "0.30000000000000004",
        "3636dd46-ea21-11e9-81b4-2a2ae2dbcce4", "v1.2.3-rc4", "blinds 100-200-400", "9007199254740993",
        "100 200 300 400 500 600 700", "seat 3: 1500 (1500 in chips)", "1234567890", "+1500", "raise 250 -> 1000",
        "4111111111111112", "1111 1111 1111 1111", "12:34:56:78:90:ab", "#4012888888881881x",
    ],
)  # fmt: skip
def test_ids_times_stacks_and_counts_stay(text: str) -> None:
    assert redacted({"log": text}) == {"log": text}


@pytest.mark.parametrize(
    "number",
    [
        "4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111", "378282246310005", "3782 822463 10005",
        "30569309025904", "6011111111111117", "5555 5555 5555 4444", "4222222222222", "6304000000000000",
        "４１１１１１１１１１１１１１１１", "4111\u200b1111\u200b1111\u200b1111",
    ],
)  # fmt: skip
def test_a_card_number_is_masked_whole_in_every_length_and_grouping(number: str) -> None:
    left = redacted(f"pay with {number} now")
    assert left == f"pay with [REDACTED:card:{len(number)}] now"


@pytest.mark.parametrize(
    "number",
    [
        "(415) 555-0132",
        "415-555-0132",
        "415.555.0132",
        "1-415-555-0132",
        "+1 415 555 0132",
        "+14155550132",
        "+49 30 12345678",
        "+44 20 7946 0958",
        "0171-1234567",
        "030/12345678",
        "+49 (30) 123 456 78",
    ],
)
def test_a_number_written_as_a_phone_is_masked_whole(number: str) -> None:
    assert redacted(f"call {number}, please") == f"call [REDACTED:phone:{len(number)}], please"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"api_key": "hunter2-abc", "max_tokens": 5}', '{"api_key": "[REDACTED:secret-name:11]", "max_tokens": 5}'),
        ('{"pin_code": 1234, "seat": 2}', '{"pin_code": "[REDACTED:secret-name:4]", "seat": 2}'),
        ('{"token": null, "n": 1}', '{"token": null, "n": 1}'),
        ('{"secret": {"a": [1, "}"]}, "n": 1}', '{"secret": "[REDACTED:secret-name:15]", "n": 1}'),
        ("{'password': 'it\\'s me'}", "{'password': '[REDACTED:secret-name:8]'}"),
        ("redis://u:hun/ter2@host", "redis://u:hun/ter2@host"),
        ("postgres://bot:hunter2@db:5432/x?sslmode=require", "postgres://bot:[REDACTED:url-password:7]@db:5432/x?sslmode=require"),
        ("GET /v1?access_token=hunter2abc&page=2", "GET /v1?access_token=[REDACTED:secret-name:10]&page=2"),
        ("Server=db;Password=hunter2;Database=x", "Server=db;Password=[REDACTED:secret-name:7];Database=x"),
        ("Authorization: Bearer hunter2abcdef\r\nA: x", "Authorization: Bearer [REDACTED:secret-name:13]\r\nA: x"),
        ("export DB_PASSWORD='hunter2 x'; ls", "export DB_PASSWORD='[REDACTED:secret-name:9]'; ls"),
    ],
)  # fmt: skip
def test_only_the_secret_changes_and_the_text_around_it_keeps_its_meaning(text: str, left: str) -> None:
    assert redacted(text) == left


@pytest.mark.parametrize(
    "prose",
    [
        "The secret is to stay calm, and the key is position.",
        "A token bet. He passed the password test: easy.",
        "Authors sign; the author's token gesture was a cookie",
        "password required", "the session is over", "token budget: 500 of 800",
        "secret: ", "Bearer of bad news", "basic strategy", "key = position",
    ],
)  # fmt: skip
def test_innocent_prose_stays(prose: str) -> None:
    assert redacted({"note": prose}) == {"note": prose}


def test_a_secret_in_pieces_is_masked_whole() -> None:
    for cut in (3, 8, 13, 20, 40):
        left = redacted({"chunks": ["so ", KEY[:cut], KEY[cut : cut + 5], KEY[cut + 5 :], " end"]})
        assert "".join(left["chunks"]) == f"so [REDACTED:api-key:{len(KEY)}] end"


def test_names_of_entries_are_searched_too_and_no_entry_is_lost() -> None:
    other = KEY.replace("Z", "Y")
    left = redacted({KEY: 1, other: 2})
    assert sorted(left.values()) == [1, 2]
    assert KEY not in json.dumps(left)
    assert other not in json.dumps(left)


@pytest.mark.parametrize(
    "value",
    [
        ("x", KEY), {KEY}, [[[KEY]]], {("a", 1): KEY}, KeyError(KEY), b"\xff" + KEY.encode(), bytearray(KEY.encode()),
        {"$dict": KEY}, {1: {"agentToken": "hunter2hunter2"}},
    ],
    ids=["tuple", "set", "deep", "odd key", "exception", "bytes", "bytearray", "form", "in an odd dict"],
)  # fmt: skip
def test_no_shape_lets_a_secret_pass(value: object) -> None:
    packed = Redactor(CapturePolicy()).frozen(pack(value), "knowledge")
    assert KEY.encode() not in packed
    assert b"hunter2" not in packed


def test_a_learnt_secret_is_masked_wherever_it_is_echoed_also_before_it_was_learnt() -> None:
    left = redacted({"echo": "it was correct-horse-battery", "password": "correct-horse-battery"})
    assert "correct-horse" not in json.dumps(left)


@pytest.mark.parametrize("disguise", ["\u200b", "\u00ad", "\ufe0f", "\u2060", "\U000e0041", "\u0301"])
def test_invisible_characters_do_not_defeat_masking(disguise: str) -> None:
    hidden = KEY[:20] + disguise + KEY[20:]
    left = redacted({"note": f"x {hidden} y"})["note"]
    assert KEY[20:] not in left
    assert KEY[:20] not in left
    assert left.startswith("x [REDACTED:api-key:")
    assert left.endswith("] y")


def test_text_that_is_not_masked_keeps_its_disguise_byte_for_byte() -> None:
    text = "ﬁne \u200b ſ café \u0301 ４２ пот — “quotes” \u202e"
    assert redacted({"note": f"{text} mail me@example.org"})["note"] == f"{text} mail [REDACTED:email:14]"


def test_with_a_key_the_mark_proves_which_value_it_was_and_shows_nothing_of_it() -> None:
    def policy(key: bytes) -> CapturePolicy:
        return CapturePolicy(keys=Keys(digest=key))

    one, two = policy(b"installation one"), policy(b"installation two")
    first, same, other = redacted([JWT, JWT, JWT + "x"], policy=one)
    assert first == same != other
    assert first.startswith(f"[REDACTED:jwt:{len(JWT)}:")
    assert len(first.rpartition(":")[2]) == 33  # 128 bits in hex, and the bracket
    assert redacted([JWT, "x"], policy=two)[0] != first


def test_a_failing_redactor_withholds_the_value_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(text: str) -> Any:
        raise RuntimeError(text)

    monkeypatch.setattr("capture_sdk.redact.redactor.looks", fail)
    redactor = Redactor(CapturePolicy())
    left = unpack(redactor.frozen(pack({"password": "hunter2"}), "knowledge"))
    assert left == {"$withheld": "redaction failed: RuntimeError"}
    assert redactor.counts == {"withheld": 1}


def test_a_value_that_is_not_msgpack_is_withheld() -> None:
    left = unpack(Redactor(CapturePolicy()).frozen(b"\xc1", "knowledge"))
    assert left == {"$withheld": "redaction failed: ValueError"}


@pytest.mark.parametrize(
    "unit",
    [
        "a", "-", "1", "@", "eyJ", '"token": ', 'password="', '"token":{', "-----BEGIN PRIVATE KEY-----", "x@y.", "://:",
        "4111 ", "+1 ", "a\u200b", "пароль ", "token is ", "Basic ", '\\"', "curl -u a:",
    ],
)  # fmt: skip
def test_work_grows_no_faster_than_the_text(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        started = time.process_time()
        spans(text)
        return time.process_time() - started

    seconds(20_000)
    assert min(seconds(400_000) for _ in range(2)) < 30 * max(min(seconds(40_000) for _ in range(3)), 0.005)


def test_a_secret_across_the_border_of_two_windows_is_found() -> None:
    for start in range(65_536 - 60, 65_536 + 5, 7):
        text = "x " * (start // 2) + KEY + " y"
        (span,) = spans(text)
        assert text[span.start : span.end] == KEY
