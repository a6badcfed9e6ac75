"""The example of a hosted agent, as a Django app for the sake of its two commands."""

from django.apps import AppConfig


class PokerConfig(AppConfig):
    name = "examples.poker"
    label = "poker_example"
    verbose_name = "Poker example"
