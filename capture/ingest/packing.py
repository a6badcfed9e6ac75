"""Records on their way into the buffer, made small with the same dictionaries that agents with the SDK use."""

import threading
from typing import Final

from capture_sdk.dictionaries import Dictionaries
from capture_sdk.keys import dictionary_key, envelope_key
from capture_sdk.prompt import Prompt
from capture_sdk.records import TurnKey
from capture_sdk.transports import Blob, Parcel


class Packer:
    """Packs records for this process. What it remembers only makes later ones smaller: losing it loses nothing."""

    def __init__(self) -> None:
        self._dictionaries = Dictionaries()
        self._lock = threading.Lock()

    def parcel(self, key: TurnKey, content: bytes, prompt: Prompt | None) -> Parcel:
        """A packed record with the blobs it needs; the envelope's bytes are in its prompt, or known to the buffer."""
        with self._lock:
            framed, needed, stored = self._dictionaries.frame(key.agent_id, content)
        dictionary = None if needed is None else Blob(dictionary_key(needed), needed, stored)
        if prompt is None or prompt.env_hash is None:
            return Parcel(key, framed, None, dictionary)
        return Parcel(
            key, framed, Blob(envelope_key(prompt.env_hash), prompt.env_hash, prompt.envelope), dictionary
        )


packer: Final = Packer()
