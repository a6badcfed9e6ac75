"""What stands where a value stood: proof that something was there, and nothing of it.

    [REDACTED:jwt:142]          rule, length in characters
    [REDACTED:jwt:142:9f86…]    with a key: and a keyed digest (HMAC-SHA256, 128 bits), so that equal values match
    [HASHED:rule:12:9f86…]      the same on request
    [ENCRYPTED:rule:12:gAAAA…]  a Fernet token, to be read with the key

Marks hold no quote, backslash or white space, so what was JSON stays JSON. A mark is never marked again.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from capture_sdk.errors import ConfigError

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

_DIGEST_BYTES: Final = 16
_SHORTEST_KEY: Final = 16
MARK: Final = re.compile(
    r"\[(?:REDACTED:[a-z0-9_.*-]{1,64}:\d{1,12}(?::[0-9a-f]{32})?"
    r"|HASHED:[a-z0-9_.*-]{1,64}:\d{1,12}(?::[0-9a-f]{32})?"
    r"|ENCRYPTED:[a-z0-9_.*-]{1,64}:\d{1,12}:gAAAAA[A-Za-z0-9_=-]+)\]"
)


@dataclass(frozen=True, slots=True)
class Keys:
    """An installation's secrets for redaction: both optional, neither ever shown.

    ``digest`` (16 bytes or more) keys the digests in marks; ``encryption`` is a Fernet key
    (``cryptography.fernet.Fernet.generate_key()``). Raises ConfigError for keys that are too weak.
    """

    digest: bytes | None = None
    encryption: bytes | None = None

    def __post_init__(self) -> None:
        if self.digest is not None and len(self.digest) < _SHORTEST_KEY:
            raise ConfigError(
                f"the digest key has {len(self.digest)} bytes: {_SHORTEST_KEY} or more are needed"
            )
        if self.encryption is not None:
            _fernet(self.encryption)

    def __repr__(self) -> str:
        return (
            f"Keys(digest={'set' if self.digest else None}, encryption={'set' if self.encryption else None})"
        )

    def digest_of(self, value: bytes) -> str | None:
        """32 hex digits that only this installation gives this value, or None without a key."""
        if self.digest is None:
            return None
        return hmac.new(self.digest, value, hashlib.sha256).hexdigest()[: 2 * _DIGEST_BYTES]

    def redacted(self, rule: str, value: bytes, length: int) -> str:
        """The mark of a masked value of ``length`` characters (or bytes)."""
        return self._mark("REDACTED", rule, value, length)

    def hashed(self, rule: str, value: bytes, length: int) -> str:
        """The mark of a hashed value; without a key it says no more than a mask, for a bare hash can be guessed."""
        return self._mark("HASHED", rule, value, length)

    def encrypted(self, rule: str, value: bytes, length: int) -> str:
        """The mark of an encrypted value. Raises ConfigError without a key."""
        if self.encryption is None:
            raise ConfigError("a rule says encrypt, but no encryption key is set")
        token = _fernet(self.encryption).encrypt(value).decode("ascii")
        return f"[ENCRYPTED:{slug(rule)}:{length}:{token}]"

    def _mark(self, verb: str, rule: str, value: bytes, length: int) -> str:
        digest = self.digest_of(value)
        return f"[{verb}:{slug(rule)}:{length}{f':{digest}' if digest else ''}]"


def decrypt(mark: str, key: bytes) -> bytes:
    """Give back the packed value (see ``freeze.unpack``) of an ``[ENCRYPTED:…]`` mark.

    Raises ValueError when ``mark`` is none, or was made with another key.
    """
    from cryptography.fernet import InvalidToken

    if not mark.startswith("[ENCRYPTED:") or not MARK.fullmatch(mark):
        raise ValueError("not an [ENCRYPTED:…] mark")
    try:
        value: bytes = _fernet(key).decrypt(mark[:-1].rpartition(":")[2].encode("ascii"))
    except InvalidToken:
        raise ValueError("the mark was made with another key, or is damaged") from None
    return value


def slug(name: str) -> str:
    """A rule's name as it may stand in a mark."""
    return re.sub(r"[^a-z0-9_.*-]+", "-", name.lower()).strip("-")[:64] or "rule"


def _fernet(key: bytes) -> "Fernet":
    try:
        from cryptography.fernet import Fernet
    except ImportError as exc:
        raise ConfigError("encryption needs cryptography: pip install 'capture-sdk[encrypt]'") from exc
    try:
        return Fernet(key)
    except ValueError:
        raise ConfigError("the encryption key is no Fernet key: 32 bytes in URL-safe base64") from None
