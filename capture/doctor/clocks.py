"""Whether another machine's clock can be trusted beside this one's."""

from capture.findings import Finding
from capture.limits import CLOCK_SECONDS


def apart(where: str, ahead: float) -> list[Finding]:
    """A finding when the clock of ``where`` is ``ahead`` (negative: behind) by more than the limit, in seconds."""
    if abs(ahead) <= CLOCK_SECONDS:
        return []
    return [
        Finding(
            "capture.D002",
            f"The clock of {where} is {abs(ahead):.1f} s {'ahead of' if ahead > 0 else 'behind'} this machine's.",
            "Expired turns are taken for gone ones, and times on pages do not fit together.",
            "Let every machine keep its time by NTP.",
        )
    ]
