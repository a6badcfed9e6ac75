"""What is counted and timed, for Prometheus. Labels hold no ids: their number would grow with the traffic."""

from prometheus_client import Counter

ACCESS_UNSTORED = Counter(
    "agent_capture_access_unstored", "Lines of the access log that went to the structured log alone"
)
