"""What the doctor hands out: findings, and what was looked at to find them."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from capture.findings import Finding


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The findings, and the names of what was looked at."""

    findings: tuple[Finding, ...]
    looked_at: tuple[str, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def as_json(self) -> str:
        """One JSON object: ``{"healthy", "findings": [{"id", "seen", "means", "remedy"}], "lookedAt"}``."""
        findings = [asdict(each) for each in self.findings]
        return json.dumps(
            {"healthy": self.is_healthy, "findings": findings, "lookedAt": list(self.looked_at)}
        )

    def as_text(self) -> str:
        """For people: four lines a finding, and one at the end."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for each in self.findings:
            yield f"{each.id}  {each.seen}"
            yield f"    means   {each.means}"
            yield f"    remedy  {each.remedy}"
            yield ""
        count = len(self.findings)
        yield "healthy" if not count else f"{count} finding{'' if count == 1 else 's'}"
        yield f"looked at: {', '.join(self.looked_at)}"
