"""Each skipped test is listed at the end of the run; with CAPTURE_FAIL_ON_SKIP=1 a skip fails it."""

import os

import pytest
from _pytest.terminal import TerminalReporter


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """List every skip with its reason."""
    skipped = terminalreporter.stats.get("skipped", [])
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        terminalreporter.write_line(f"skipped: {report.nodeid}: {reason.removeprefix('Skipped: ')}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where a skip would hide a missing server or browser, it is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if isinstance(reporter, TerminalReporter) else []
    if skipped and os.environ.get("CAPTURE_FAIL_ON_SKIP") == "1" and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
