"""Addresses of the staff pages. Ids travel in the query string, where any character can stand."""

from django.urls import path

from viewer import charting, compare, searching, texts, views

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
    path("verdict", compare.verdict, name="verdict"),
    path("verdicts", compare.verdict_list, name="verdicts"),
]
