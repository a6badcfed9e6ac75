"""What stays in Postgres: evidence, runs, ledger, access, verdicts, text to search in. Table names are a contract."""

from capture.models.access import AccessAction, AgentAccess, AgentServiceKey
from capture.models.evidence import AgentCallDictionary, AgentCallEnvelope, AgentCallRecord
from capture.models.ledger import AgentHand, AgentInferenceCharge
from capture.models.runs import AgentRun, AgentRunArtifact, AgentRunBudget, AgentRunEvent
from capture.models.search import AgentSearchText
from capture.models.verdicts import AgentVerdict, VerdictKind

__all__ = [
    "AccessAction",
    "AgentAccess",
    "AgentCallDictionary",
    "AgentCallEnvelope",
    "AgentCallRecord",
    "AgentHand",
    "AgentInferenceCharge",
    "AgentRun",
    "AgentRunArtifact",
    "AgentRunBudget",
    "AgentRunEvent",
    "AgentSearchText",
    "AgentServiceKey",
    "AgentVerdict",
    "VerdictKind",
]
