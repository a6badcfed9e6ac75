"""What a secret looks like inside text, wherever it stands: keys by their makers' prefixes, addresses, numbers.

Each pattern has literal looks without which it is not tried at all, a regular expression of bounded or
possessive repeats (so that its work grows with the text and no faster), and where a shape alone
proves nothing a check: Luhn's sum for cards (ISO/IEC 7812), mod 97 for IBANs (ISO 13616).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final


class Look(Enum):
    """A kind of secret that a text may hold, by what it looks like from afar."""

    KEYS = auto()  # keys by prefix, JWTs, PEM blocks
    NAMES = auto()  # a value behind a secret name
    NUMBERS = auto()  # cards, phones, account numbers
    ADDRESSES = auto()  # e-mails, passwords in URLs
    COMMANDS = auto()  # curl -u, webhooks


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of secret. ``group`` is the part to mask; ``joins`` whether it may arrive in pieces.

    ``within`` finds the secrets inside of a match, where a match can be more than one of them.
    """

    name: str
    look: Look
    looks: tuple[str, ...]
    regex: re.Pattern[str]
    check: Callable[[str], bool] = lambda _: True
    group: int = 0
    joins: bool = False
    within: Callable[[str], Iterable[tuple[int, int]]] | None = None


def _luhn(text: str) -> bool:
    digits = [int(character) for character in re.sub(r"\D", "", text)]
    total = sum(digits[-1::-2])
    for digit in digits[-2::-2]:
        total += 2 * digit - 9 * (digit > 4)
    return total % 10 == 0 and len(set(digits)) > 1


def is_card(text: str) -> bool:
    """An issuer's range and length, and Luhn's sum; clocks in milliseconds start with 1, as no card does."""
    digits = re.sub(r"\D", "", text)
    return bool(_ISSUER.match(digits)) and _luhn(digits)


def _cards(run: str) -> Iterator[tuple[int, int]]:
    """Card numbers within a run of digit groups: "card 4 4012-8888-8888-1881" has a stray 4 in front.

    With blanks between them only the groupings that are printed on cards count: stacks and pots stand in
    rows, too.
    """
    groups = list(re.finditer(r"\d+", run))
    first = 0
    while first < len(groups):
        for last in range(len(groups), first, -1):
            start, end = groups[first].start(), groups[last - 1].end()
            sizes = tuple(len(group[0]) for group in groups[first:last])
            separators = {run[group.end()] for group in groups[first : last - 1]}
            if 12 <= sum(sizes) <= 19 and _is_grouping(sizes, separators) and is_card(run[start:end]):
                yield start, end
                first = last - 1
                break
        first += 1


def _is_grouping(sizes: tuple[int, ...], separators: set[str]) -> bool:
    if not separators:
        return True
    if separators == {"-"}:
        return min(sizes) > 1 or sizes[-1] == min(sizes)
    fours = all(size == 4 for size in sizes[:-1]) and len(sizes) >= 4
    return len(separators) == 1 and (fours or sizes in ((4, 6, 5), (4, 6, 4)))


_ISSUER: Final = re.compile(
    r"(?:4\d{12}|4\d{15}|4\d{18}|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|2720\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12,15}|35(?:2[89]|[3-8]\d)\d{12,15}|62\d{14,17}"
    r"|(?:5[06]|6[37])\d{10,17})\Z"
)


def _is_iban(text: str) -> bool:
    plain = re.sub(r"\s", "", text).upper()
    moved = plain[4:] + plain[:4]
    return len(plain) >= 15 and int("".join(str(int(each, 36)) for each in moved)) % 97 == 1


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


def _is_phone(text: str) -> bool:
    return 8 <= sum(character.isdigit() for character in text) <= 15


def _is_random(text: str) -> bool:
    """Digits and letters mixed, and no placeholder of one repeated character."""
    return _has_digit(text) and any(each.isalpha() for each in text) and len(set(text)) >= 6


def _is_not_alphabet(text: str) -> bool:
    return "abcdefghijklmnopqrstuvwxyz" not in text.lower()


# (prefix, what follows). The prefix is distinctive: it counts after any separator too.
_KEY_SHAPES: Final = (
    ("sk-ant-", r"[\w-]{16,}+"),
    ("sk-proj-", r"[\w-]{16,}+"),
    ("sk-svcacct-", r"[\w-]{16,}+"),
    ("sk-admin-", r"[\w-]{16,}+"),
    ("sk-or-v1-", r"[\w-]{16,}+"),
    ("sk-lf-", r"[\w-]{16,}+"),
    ("lsv2_", r"[\w-]{16,}+"),
    ("gsk_", r"\w{20,}+"),
    ("xai-", r"[A-Za-z0-9]{20,}+"),
    ("r8_", r"[A-Za-z0-9]{20,}+"),
    ("hf_", r"[A-Za-z0-9]{24,}+"),
    ("fw_", r"[A-Za-z0-9]{20,}+"),
    ("dtn_", r"[A-Za-z0-9]{20,}+"),
    ("pplx-", r"[A-Za-z0-9]{20,}+"),
    ("AIza", r"[\w-]{30,}+"),
    ("ya29.", r"[\w-]{20,}+"),
    ("GOCSPX-", r"[\w-]{20,}+"),
    ("AKIA", r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    ("ASIA", r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    ("AKC", r"[A-Za-z0-9]{10,}+"),
    ("dop_v1_", r"[a-f0-9]{40,}+"),
    ("doo_v1_", r"[a-f0-9]{40,}+"),
    ("dapi", r"[a-f0-9]{32}"),
    ("sha256~", r"[\w-]{40,}+"),
    ("hvs.", r"[\w-]{20,}+"),
    ("hvb.", r"[\w-]{20,}+"),
    ("dp.pt.", r"[A-Za-z0-9]{20,}+"),
    ("dp.st.", r"[\w.]{20,}+"),
    ("ghp_", r"[A-Za-z0-9]{30,}+"),
    ("gho_", r"[A-Za-z0-9]{30,}+"),
    ("ghu_", r"[A-Za-z0-9]{30,}+"),
    ("ghs_", r"[A-Za-z0-9]{30,}+"),
    ("ghr_", r"[A-Za-z0-9]{30,}+"),
    ("github_pat_", r"\w{30,}+"),
    ("glpat-", r"[\w-]{18,}+"),
    ("gldt-", r"[\w-]{18,}+"),
    ("glrt-", r"[\w-]{18,}+"),
    ("glcbt-", r"[\w-]{18,}+"),
    ("npm_", r"[A-Za-z0-9]{30,}+"),
    ("pypi-", r"[\w-]{40,}+"),
    ("rubygems_", r"[a-f0-9]{40,}+"),
    ("xoxb-", r"[\w-]{16,}+"),
    ("xoxp-", r"[\w-]{16,}+"),
    ("xoxa-", r"[\w-]{16,}+"),
    ("xoxr-", r"[\w-]{16,}+"),
    ("xoxs-", r"[\w-]{16,}+"),
    ("xapp-", r"[\w-]{16,}+"),
    ("sk_live_", r"[A-Za-z0-9]{16,}+"),
    ("sk_test_", r"[A-Za-z0-9]{16,}+"),
    ("rk_live_", r"[A-Za-z0-9]{16,}+"),
    ("rk_test_", r"[A-Za-z0-9]{16,}+"),
    ("whsec_", r"[A-Za-z0-9+/=]{20,}+"),
    ("SG.", r"[\w-]{16,}+\.[\w-]{16,}+"),
    ("shpat_", r"[a-fA-F0-9]{32}"),
    ("shpss_", r"[a-fA-F0-9]{32}"),
    ("ntn_", r"[A-Za-z0-9]{30,}+"),
    ("secret_", r"[A-Za-z0-9]{40,}+"),
    ("glsa_", r"\w{30,}+"),
    ("sntryu_", r"[a-f0-9]{40,}+"),
    ("sntrys_", r"[\w+/=-]{40,}+"),
    ("sgp_", r"[a-f0-9_]{40,}+"),
    ("ops_eyJ", r"[\w.-]{40,}+"),
    ("tvly-", r"[\w-]{20,}+"),
    ("nvapi-", r"[\w-]{30,}+"),
    ("AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}+"),
)


def _prefixed() -> re.Pattern[str]:
    shapes = "|".join(f"{re.escape(prefix)}{rest}" for prefix, rest in _KEY_SHAPES)
    return re.compile(f"(?<![A-Za-z0-9])(?:{shapes})", re.ASCII)


# For the first look, which sees words: a prefix with a dot in it is a word of its own.
KEY_LOOKS: Final = tuple(
    look.encode()
    for look in (*(prefix for prefix, _ in _KEY_SHAPES if "." not in prefix), "eyJ", "sk-", "-us")
)
KEY_WORDS: Final = frozenset(prefix.split(".")[0].encode() for prefix, _ in _KEY_SHAPES if "." in prefix)
SHORTEST_KEY: Final = 13  # of the words that keys are made of

PATTERNS: Final = (
    Pattern(
        "private-key",
        Look.KEYS,
        ("-----BEGIN ",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?!-----END )[^\"'<>{}`]){0,65536}+(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
            re.DOTALL,
        ),
        joins=True,
    ),
    Pattern(
        "api-key",
        Look.KEYS,
        tuple(prefix for prefix, _ in _KEY_SHAPES),
        _prefixed(),
        _is_not_alphabet,
        joins=True,
    ),
    # An older OpenAI key has no more of a prefix than this: it has to look random as well.
    Pattern(
        "api-key",
        Look.KEYS,
        ("sk-", "SK", "-us"),
        re.compile(
            r"(?<![\w-])(?:sk-[A-Za-z0-9]{20,}+|SK[a-f0-9]{32}|[a-f0-9]{32}-us\d{1,2})(?![\w-])", re.ASCII
        ),
        _is_random,
        joins=True,
    ),
    Pattern(
        "jwt",
        Look.KEYS,
        ("eyJ",),
        re.compile(r"(?<![\w-])eyJ[\w-]{10,}+(?:\.[\w-]{4,}+){1,4}", re.ASCII),
        joins=True,
    ),
    Pattern(
        "bot-token",
        Look.KEYS,
        (":AA", "."),
        re.compile(
            r"(?<![\w-])(?:\d{8,10}:AA[\w-]{32,}+|[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,}+)(?![\w-])",
            re.ASCII,
        ),
        _is_random,
    ),
    Pattern(
        "webhook",
        Look.COMMANDS,
        ("hooks.slack.com/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
        re.compile(
            r"https?://(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks)/[\w/-]{8,}+",
            re.ASCII,
        ),
    ),
    Pattern(
        "url-password",
        Look.ADDRESSES,
        ("@",),
        re.compile(r"://[^\s/?#\"'<>:@]{0,128}:([^\s/\"'<>]{1,256})@(?=[^\s@])"),
        group=1,
    ),
    Pattern(
        "url-password",
        Look.COMMANDS,
        ("curl", "wget"),
        re.compile(r"(?:\s-u|--user|--password)[ =]\\*[\"']?[^\s:\"'$<{}\[\\]{1,128}+:([^\s\"'\\]{1,256}+)"),
        group=1,
    ),
    Pattern(
        "email",
        Look.ADDRESSES,
        ("@",),
        re.compile(
            r"(?<![\w.%+-])[\w.%+-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}+)\.){1,8}+[A-Za-z]{2,24}(?![\w-])"
            r"|(?<![\w.%+-])[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])"
        ),
        lambda text: not text.startswith("git@"),
    ),
    Pattern(
        "card",
        Look.NUMBERS,
        (),
        re.compile(r"\d(?<![\w.-].)(?:[ -]?\d){11,60}+(?![\w-]|\.\d)", re.ASCII),
        within=_cards,
    ),
    Pattern(
        "iban",
        Look.NUMBERS,
        (),
        re.compile(
            r"[A-Z][A-Z]\d\d(?<![\w-].{4})(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![\w-])", re.ASCII
        ),
        _is_iban,
    ),
    Pattern(
        "ssn",
        Look.NUMBERS,
        ("-",),
        re.compile(
            r"[0-8](?<![\w.-].)\d\d(?<!000)(?<!666)-(?!00)\d{2}-(?!0000)\d{4}(?![\w-]|\.\d)", re.ASCII
        ),
    ),
    Pattern(
        "phone",
        Look.NUMBERS,
        (),
        re.compile(
            r"[+(\d](?<![\w.+-].)(?:"
            r"(?<=\+)[1-9]\d{0,2}(?:[ .-]?\(\d{1,4}\))?(?:[ ./-]\d{1,8}){1,5}"  # +49 30 123456
            r"|(?<=\+)[1-9]\d{9,14}"  # +14155550132
            r"|(?:(?<=1)[-. ]\(?[2-9]\d{2}\)?[-. ]?|(?<=\()[2-9]\d{2}\)[ -]?|(?<=[2-9])\d{2}[-.])"
            r"[2-9]\d{2}[-. ]\d{4}"  # (415) 555-0132
            r"|(?<=0)\d{2,4}[-/]\d{5,8}"  # 0171-1234567
            r")(?![\w-]|\.\d)",
            re.ASCII,
        ),
        _is_phone,
    ),
)
