"""Token counts, each token once, under each provider's own convention.

OpenAI's ``prompt_tokens``/``input_tokens`` include the cached ones and its completion tokens include the
reasoning ones; Anthropic's ``input_tokens`` exclude what was read from or written to the cache, so the
three are added up. Unknown stays None: it is not zero.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Tokens of one or more model calls. ``input`` includes cached and cache-write, ``output`` reasoning."""

    input: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None


def token_counts(usage: object) -> TokenCounts:
    """Read a provider's usage object; anything it does not state is None."""
    if not isinstance(usage, Mapping):
        return TokenCounts()
    if "cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage:
        return _anthropic(usage)
    inputs = _mapping(usage, "prompt_tokens_details", "input_tokens_details")
    outputs = _mapping(usage, "completion_tokens_details", "output_tokens_details")
    return TokenCounts(
        input=_count(usage, "prompt_tokens", "input_tokens"),
        cached=_count(inputs, "cached_tokens"),
        cache_write=_count(inputs, "cache_write_tokens"),
        output=_count(usage, "completion_tokens", "output_tokens"),
        reasoning=_count(outputs, "reasoning_tokens"),
    )


def total(counts: Iterable[TokenCounts]) -> TokenCounts:
    """Add counts up; a kind that no call states stays unknown."""
    every = list(counts)
    return TokenCounts(
        **{each.name: _sum(getattr(count, each.name) for count in every) for each in fields(TokenCounts)}
    )


def _anthropic(usage: Mapping[str, object]) -> TokenCounts:
    read = _count(usage, "cache_read_input_tokens")
    written = _count(usage, "cache_creation_input_tokens")
    fresh = _count(usage, "input_tokens")
    return TokenCounts(
        input=None if fresh is None else fresh + (read or 0) + (written or 0),
        cached=read,
        cache_write=written,
        output=_count(usage, "output_tokens"),
    )


def _mapping(usage: Mapping[str, object], *names: str) -> Mapping[str, object]:
    for name in names:
        found = usage.get(name)
        if isinstance(found, Mapping):
            return found
    return {}


def _count(usage: Mapping[str, object], *names: str) -> int | None:
    for name in names:
        found = usage.get(name)
        if isinstance(found, int) and not isinstance(found, bool) and found >= 0:
            return found
    return None


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
