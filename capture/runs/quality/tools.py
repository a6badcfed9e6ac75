"""What the quality report asks of each tool: proposals, executions, classes, definitions."""

from collections.abc import Iterator, Mapping

from capture.runs.branching import class_of
from capture.runs.inventory import Inventory
from capture.runs.inventory.found import Kind
from capture.runs.pairing import Execution, Paired
from capture.runs.quality import lines
from capture.runs.quality.lines import Lack, Line
from capture_sdk.runs.records import Status


def of_tools(paired: Paired, context: Inventory) -> Iterator[Line]:
    """The lines on tools, in the report's order."""
    executions, proposals = paired.executions, paired.proposals
    yield lines.PROPOSAL.answer(
        len(executions), [Lack(e.event_id, _why_unproposed(e)) for e in paired.unproposed]
    )
    left = [each for each in paired.unexecuted if not each.denials]
    yield lines.EXECUTION.answer(
        len(proposals), [Lack(each.event_id, "execution or denial") for each in left]
    )
    yield lines.OUTCOME.answer(len(executions), [lack for each in executions for lack in _outcome(each)])
    unset = [Lack(each.event_id, _class_lack(each)) for each in executions if class_of(each) is None]
    yield lines.SIDE_EFFECT.answer(len(executions), unset)
    yield _definitions(paired, context)


def _why_unproposed(execution: Execution) -> str:
    if execution.candidates:
        return f"proposal: {len(execution.candidates)} share its call id"
    named = execution.start.text("proposal") or execution.start.text("callId")
    return "proposal: the one it names is not there" if named else "proposal"


def _class_lack(execution: Execution) -> str:
    return (
        "side-effect class"
        if execution.side_effect is None
        else "side-effect class: its word is none of the five"
    )


def _outcome(execution: Execution) -> Iterator[Lack]:
    if execution.finish is None:
        yield Lack(execution.event_id, "end")
    elif execution.status == Status.OK and "output" not in execution.finish.fields:
        yield Lack(execution.event_id, "output")
    elif execution.status == Status.ERROR and not execution.finish.fields.get("error"):
        yield Lack(execution.event_id, "error")
    elif execution.status is None:
        yield Lack(execution.event_id, "status")


def _definitions(paired: Paired, context: Inventory) -> Line:
    """Each tool by its name: with its proposals, in a request, or in an annotation, both must have been captured."""
    used = _used(paired)
    known = _defined(paired, context)
    lacks = []
    for name, event_id in used.items():
        missing = [each for each in ("description", "schema") if each not in known[name]]
        if missing:
            lacks.append(Lack(event_id, f"{' and '.join(missing)} of {name}"))
    return lines.DEFINITION.answer(len(used), lacks)


def _used(paired: Paired) -> Mapping[str, str]:
    """Tools by name, with the first event that names each."""
    found: dict[str, str] = {}
    for start in [each.start for each in paired.proposals] + [each.start for each in paired.executions]:
        found.setdefault(start.text("name") or "a tool without a name", start.event_id)
    return found


def _defined(paired: Paired, context: Inventory) -> dict[str, set[str]]:
    """What was captured of each tool."""
    found: dict[str, set[str]] = {}
    for start in [each.start for each in paired.proposals] + [each.start for each in paired.executions]:
        name = start.text("name") or "a tool without a name"
        found.setdefault(name, set()).update({"description", "schema"} & start.fields.keys())
    for item in context.items:
        if item.kind == Kind.TOOL_DEFINITION and item.name is not None:
            found.setdefault(item.name, set()).update({"description", "schema"} - set(item.lacks))
    return found
