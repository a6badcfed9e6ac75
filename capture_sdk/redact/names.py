"""Which names are secret, in every spelling: snake, camel, kebab, upper, prefixed, disguised.

A name is read as words. It is secret when it ends in a secret word (``agentToken``, ``PRIVATE-TOKEN``), or
holds one that nothing innocent follows (``AWS_BEARER_TOKEN_BEDROCK``). What only counts, names, points at or
describes a secret is not one: ``max_tokens``, ``tokenCount``, ``credentialsId``, ``access_token_url``.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from capture_sdk.redact.disguise import fold

_ALONE: Final = frozenset(
    "token password passwords passwd passphrase passcode pwd secret secrets authorization cookie cookies credential"
    " credentials apikey apikeys jwt"
    " bearer sessionid otp cvv cvc ssn privatekey secretkey accesskey signature sig authtoken accesstoken"
    " clientsecret passwort kennwort motdepasse contraseña contrasena".split()
)
_PAIRS: Final = frozenset(
    tuple(pair.split())
    for pair in (
        "api key,private key,access key,secret key,account key,admin key,master key,signing key,encryption key,"
        "shared key,storage key,subscription key,set cookie,session id,session key,auth key,service key,"
        "license key,deploy key,ssh key,hash key,art api,pin code,security code,proxy authorization,www authenticate"
    ).split(",")
)
# These make a name secret also where another word follows: AWS_BEARER_TOKEN_BEDROCK.
_ANYWHERE: Final = frozenset("token password passwd passphrase secret apikey credential credentials".split())
# After a secret word these make the whole name one of something else: a count, a place, a kind, a name.
_INNOCENT_ENDS: Final = frozenset(
    "id ids name names count counts limit limits budget usage used total max min size length len index type types"
    " kind url uri endpoint host path file store vault ref arn version audience expiry expires expired exp ttl age"
    " at time date variable var enabled required valid present policy policies rule rules scheme header headers"
    " format field prefix suffix hint label title description desc mode status state chars char alphabet str"
    " string pattern regex manager provider service class factory request response error errors per rate price"
    " cost costs input output reasoning cached prompt completion details".split()
)
# Before ``token`` these say that it is a piece of text, not a credential.
_INNOCENT_FIRSTS: Final = frozenset("eos bos pad unk sep cls mask stop special end next first last".split())
_WORDS: Final = re.compile(r"[A-Z]+(?![a-zà-ÿ])|[A-Z]?[a-zà-ÿ]+|\d+")
_LONGEST: Final = 200  # a longer name is a text


@lru_cache(maxsize=4_096)
def is_secret_name(name: str) -> bool:
    """Whether a field of this name holds a credential."""
    if len(name) > _LONGEST:
        return False
    words = [word.lower() for word in _WORDS.findall(fold(name).text)]
    while words and words[-1].isdigit():
        words.pop()  # token2, apiKey1
    if not words or words[-1] in _INNOCENT_ENDS - {"id"}:
        return False
    return any(_is_secret_at(words, place) for place in range(len(words)))


def has_secret_phrase(words: set[bytes], text: bytes) -> bool:
    """Whether a text of these words speaks of a secret in two of them: "API key", "security code"."""
    firsts, lasts = words & _FIRSTS, words & _LASTS
    if not firsts or not lasts:
        return False
    there = {word.lower() for word in firsts | lasts}
    wanted = [first + b" " + last for first, last in _PHRASES if first in there and last in there]
    return bool(wanted) and any(phrase in text.lower() for phrase in wanted)


def _spellings(words: Iterable[str]) -> frozenset[bytes]:
    return frozenset(form.encode() for word in words for form in (word, word.title(), word.upper()))


def _is_secret_at(words: list[str], place: int) -> bool:
    """Whether a secret word, or pair of words, ends at ``place`` and nothing innocent follows it."""
    pair = tuple(words[place - 1 : place + 1])
    alone = words[place] in _ALONE
    if not alone and pair not in _PAIRS:
        return False
    if (
        alone
        and words[place] in ("token", "signature", "sig")
        and words[max(place - 1, 0)] in _INNOCENT_FIRSTS
    ):
        return False
    after = words[place + 1 :]
    if after and alone and pair not in _PAIRS and words[place] not in _ANYWHERE:
        return False
    return not any(word in _INNOCENT_ENDS for word in after)


_PHRASES: Final = tuple((first.encode(), last.encode()) for first, last in sorted(_PAIRS))
_FIRSTS: Final = _spellings(first for first, _ in _PAIRS)
_LASTS: Final = _spellings(last for _, last in _PAIRS)
