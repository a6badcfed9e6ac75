"""Inspect's logs: each sample is a run, made from its transcript; an agent within an agent is a run of its own.

A model event has the request and the response as they were. What is neither call nor tool is an event, whole.
"""

from typing import Any

from capture.importing.attachments import Attachments
from capture.importing.building import ABSENT, Keys, Reading, RunBuilder, digest
from capture.importing.errors import FileRefused
from capture.importing.messages import walk
from capture.importing.reading import a_list, a_map, map_or_empty, maps, moment, text_or_none, write_json
from capture.importing.transcript import Transcript
from capture_sdk.runs.records import Status


def read_inspect(content: Any, agent_id: str) -> Reading:
    """Every sample of a log; a transcript without a log around it counts as one."""
    log = a_map(content, "it")
    if "eval" not in log:
        a_list(log.get("events"), "events")
        return _read([("it", log)], {}, agent_id)
    listed = a_list(log.get("samples") or [], "samples")
    samples = [(f"samples[{index}]", a_map(each, f"samples[{index}]")) for index, each in enumerate(listed)]
    if not samples:
        raise FileRefused("the log holds no sample")
    return _read(samples, {name: value for name, value in log.items() if name != "samples"}, agent_id)


def _read(samples: list[tuple[str, dict[str, Any]]], log: dict[str, Any], agent_id: str) -> Reading:
    runs, notes, keys = [], [], Keys(agent_id)
    for place, sample in samples:
        texts = Attachments(sample.get("attachments") or _transcript(sample).get("content"))
        builder = RunBuilder(keys.key(*_words(log, sample)))
        runs += _sample(builder, keys, place, sample, log, texts)
        if texts.is_spent:
            notes.append(f"{place}: some attachments were too much to put back; their references stayed")
    return Reading(tuple(each.build() for each in runs), tuple(notes))


def _sample(
    builder: RunBuilder,
    keys: Keys,
    place: str,
    sample: dict[str, Any],
    log: dict[str, Any],
    texts: Attachments,
) -> list[RunBuilder]:
    held, where = _events(sample, place)
    events = [a_map(each, f"{where}[{index}]") for index, each in enumerate(held)]
    messages = maps(texts.put_back(sample.get("messages")))
    _begin(builder, events, sample, log)
    transcript = Transcript(builder, keys, texts, messages, has_failed=bool(sample.get("error")))
    transcript.take(events)
    if any(event.get("event") == "model" for event in events):
        transcript.tell_rest()
    else:
        walk(builder, messages, ABSENT)
    builder.tell("sample", "sample", _without_events(sample))
    if log:
        _end(builder, sample.get("error"))
    return transcript.builders


def _begin(
    builder: RunBuilder, events: list[dict[str, Any]], sample: dict[str, Any], log: dict[str, Any]
) -> None:
    evaluation = map_or_empty(log.get("eval"))
    times = (moment(each.get("timestamp")) for each in events)
    at = next(filter(None, times), None) or moment(evaluation.get("created"))
    task = text_or_none(evaluation.get("task"))
    metadata = {
        "format": "inspect",
        "task": task,
        "model": text_or_none(evaluation.get("model")),
        "sample": _scalar(sample.get("id")),
        "epoch": _scalar(sample.get("epoch")),
        "isTimed": None if at else False,
    }
    named = f"{task}: sample {sample.get('id')}" if task else text_or_none(sample.get("description"))
    builder.begin(named, at=at, metadata=metadata)
    if log:
        builder.tell("log", "log", log)


def _end(builder: RunBuilder, failed: object) -> None:
    if not failed:
        builder.end(Status.OK)
        return
    told = failed if isinstance(failed, dict) else {"message": failed}
    error = {"type": "error", "message": told.get("message")}
    if isinstance(told.get("traceback"), str):
        error["traceback"] = told["traceback"]
    builder.end(Status.ERROR, error)


def _words(log: dict[str, Any], sample: dict[str, Any]) -> list[object]:
    """What names a sample: its own id of the world, else its evaluation and its place there, else its content."""
    if isinstance(sample.get("uuid"), str):
        return [sample["uuid"]]
    evaluation = map_or_empty(log.get("eval"))
    if not evaluation or "id" not in sample:
        return [digest(write_json(sample).decode())]
    one = text_or_none(evaluation.get("eval_id"))
    named = [one] if one else [evaluation.get("run_id"), evaluation.get("task_id")]
    return [*named, sample["id"], sample.get("epoch", 1)]


def _transcript(sample: dict[str, Any]) -> dict[str, Any]:
    """Where older logs have a sample's events and their attachments."""
    return map_or_empty(sample.get("transcript"))


def _events(sample: dict[str, Any], place: str) -> tuple[list[Any], str]:
    prefix = "" if place == "it" else f"{place}."
    if "events" in sample:
        return a_list(sample["events"], f"{prefix}events"), f"{prefix}events"
    where = f"{prefix}transcript.events"
    return a_list(_transcript(sample).get("events") or [], where), where


def _without_events(sample: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in sample.items() if name != "events"}
    if "transcript" in kept and isinstance(kept["transcript"], dict):
        kept["transcript"] = {k: v for k, v in kept["transcript"].items() if k != "events"}
    return kept


def _scalar(value: object) -> object:
    return value if isinstance(value, str | int) else None
