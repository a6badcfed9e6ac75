"""One agent's part of one hand, as far as the durable store is concerned."""

from django.db import connection

from capture.models import AgentCallDictionary, AgentCallEnvelope, AgentCallRecord

Seat = tuple[str, int, str]  # table, hand, agent


def lock_seat(seat: Seat) -> None:
    """Wait until nobody else pins or imports the seat, to the end of the transaction.

    Whoever inserts one after the other can say truly what was inserted. Several seats are locked in their order.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [repr(seat)])


def owner(row: AgentCallRecord | AgentCallEnvelope | AgentCallDictionary) -> Seat:
    """Whose row it is: nothing is shared beyond one agent's hand."""
    return row.table_id, row.hand_number, row.agent_id
