"""A few words around a hit, cut from the searchable text as it stands."""

import re
from dataclasses import dataclass

from capture.limits import SEARCH_EXCERPT, SEARCH_MARKS

_EXCLUDED = re.compile(r'(?<!\S)-(?:"[^"]*"?|\S+)')
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of an excerpt, and whether it is one of the words that were looked for."""

    text: str
    is_hit: bool = False


def words_of(query: str) -> list[str]:
    """The words that a query in web search form looks for; those behind a minus are left out, as is a plain ``or``."""
    return [word for word in _WORD.findall(_EXCLUDED.sub(" ", query)) if word.lower() != "or"]


def excerpt(text: str, query: str) -> tuple[Stretch, ...]:
    """The text around the first of the query's words, with those words marked, in ``SEARCH_EXCERPT`` characters.

    Postgres has other rules for what a word is (an address is one to it, say): where no word is found by ours, the
    text's beginning stands here, with nothing marked.
    """
    words = sorted(set(words_of(query)), key=len, reverse=True)
    hits = re.compile(rf"\b(?:{'|'.join(map(re.escape, words)) or '(?!)'})\b", re.IGNORECASE)
    first = hits.search(text)
    start = 0 if first is None else max(first.start() - SEARCH_EXCERPT // 3, 0)
    end = min(start + SEARCH_EXCERPT, len(text))
    shown = [Stretch("… ")] if start else []
    at = start
    for number, hit in enumerate(hits.finditer(text, start, end)):
        if number == SEARCH_MARKS:
            break
        shown += [Stretch(text[at : hit.start()]), Stretch(hit[0], is_hit=True)]
        at = hit.end()
    shown += [Stretch(text[at:end]), Stretch(" …" if end < len(text) else "")]
    return tuple(stretch for stretch in shown if stretch.text)
