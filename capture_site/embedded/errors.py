"""What can go wrong with the embedded servers, in one sentence each."""


class EmbeddedError(Exception):
    """The embedded servers cannot be used; the message is one sentence that names cause and remedy."""
