"""Addresses of the staff pages. Ids travel in the query string, where any character can stand."""

from django.urls import path

from viewer import charting, compare, searching, texts, views
from viewer.runs import comparing, evidence, listing, page
from viewer.runs import texts as run_texts

app_name = "viewer"

urlpatterns = [
    path("", views.recent, name="recent"),
    path("checked", views.checked, name="checked"),
    path("newer", views.newer, name="newer"),
    path("hand", views.hand, name="hand"),
    path("keep", views.keep, name="keep"),
    path("prompt", texts.prompt, name="prompt"),
    path("text", texts.text, name="text"),
    path("raw", texts.raw, name="raw"),
    path("search", searching.search, name="search"),
    path("compare", compare.compare, name="compare"),
    path("charts", charting.charts, name="charts"),
    path("runs", listing.runs, name="runs"),
    path("runs/run", page.run, name="run"),
    path("runs/keep", page.keep, name="run_keep"),
    path("runs/quality", evidence.quality, name="run_quality"),
    path("runs/branches", evidence.branches, name="run_branches"),
    path("runs/context", evidence.context, name="run_context"),
    path("runs/artifacts", evidence.artifacts, name="run_artifacts"),
    path("runs/compare", comparing.compared, name="run_compare"),
    path("runs/event", run_texts.event, name="run_event"),
    path("runs/artifact", run_texts.artifact, name="run_artifact"),
    path("runs/raw", run_texts.raw, name="run_raw"),
    path("verdict", compare.verdict, name="verdict"),
    path("verdicts", compare.verdict_list, name="verdicts"),
]
