"""What stays in Postgres: evidence, ledger, access, verdicts, the text to search in. Table names are a contract."""

from capture.models.access import AccessAction, AgentAccess, AgentServiceKey
from capture.models.evidence import AgentCallDictionary, AgentCallEnvelope, AgentCallRecord
from capture.models.ledger import AgentHand, AgentInferenceCharge
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
    "AgentSearchText",
    "AgentServiceKey",
    "AgentVerdict",
    "VerdictKind",
]
