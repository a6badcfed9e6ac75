"""What a turn's own card says of why it went as it did; the compare page has the rest."""

from capture.merge import HandView
from capture.verdicts import of_hand
from viewer.present import Row
from viewer.why.chain import chain_of
from viewer.why.judged import judged
from viewer.why.turns import previous
from viewer.why.unseen import Witnesses


def reasons(view: HandView, row: Row, *, by: str) -> dict[str, object]:
    """What it did not know, the chain from said to sent, the turn before it, and what people said of it."""
    if row.turn is None:
        return {}
    before = previous(view.turns, row.key)
    return {
        "not_known": Witnesses(view.turns).not_known(row.key),
        "chain": chain_of(row.record) if row.record is not None else None,
        "before": None if before is None else before.key,
        "judged": judged(row.key, of_hand(view.table_id, view.hand_number), by=by),
    }
