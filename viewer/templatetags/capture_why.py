"""The words of the template language that the why pages need beside those of ``capture_pages``."""

from typing import Final

from django import template
from django.utils.http import urlencode

from capture_sdk.records import TurnKey
from viewer.present import Row

register = template.Library()

_FIRST_COLOUR: Final = 0


@register.simple_tag
def with_query(key: TurnKey) -> str:
    """The part of a query string that names the turn to compare with."""
    where = {"withTableId": key.table_id, "withHandNumber": str(key.hand_number)}
    return urlencode(where | {"withAgentId": key.agent_id, "withActionIndex": str(key.action_index)})


@register.simple_tag
def turn_anchor(key: TurnKey) -> str:
    """The turn's place on its hand's page."""
    return Row(key, _FIRST_COLOUR).anchor
