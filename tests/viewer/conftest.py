"""A cast of people, and a real browser to look with.

vera may see, kim may see and keep, sam is staff without a right, olga is no staff at all.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

CHROMIUM = Path(os.environ.get("CHROMIUM") or "/usr/bin/chromium")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
QUIET += ["--disable-component-update", "--disable-sync"]

LogIn = Callable[[str], Client]
Look = Callable[..., Page]


@pytest.fixture(autouse=True)
def plain_static_files(settings: Any) -> None:
    """Pages are tested without collecting static files first; hashed names have a test of their own."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": plain}


RIGHTS = {
    "vera": ["view_agentcallrecord"],
    "kim": ["view_agentcallrecord", "pin_hand"],
    "sam": [],
    "olga": [],
}


class Cast(dict[str, User]):
    """The people by name, each made when first asked for."""

    def __missing__(self, name: str) -> User:
        rights = Permission.objects.filter(codename__in=RIGHTS[name])
        self[name] = User.objects.create_user(name, is_staff=name != "olga")
        self[name].user_permissions.set(rights)
        return self[name]


@pytest.fixture
def cast(db: None) -> Cast:
    return Cast()


@pytest.fixture
def log_in(cast: Cast) -> LogIn:
    def as_person(name: str) -> Client:
        client = Client()
        client.force_login(cast[name])
        return client

    return as_person


@pytest.fixture(
    scope="module"
)  # not longer: while it lives, no other test of this thread can run an event loop
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(f"no browser at {CHROMIUM}; CHROMIUM names one")
    # Playwright's synchronous interface keeps an event loop running in this thread, and Django would refuse
    # its own synchronous calls beside it. Here they are what they seem: one after the other.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=str(CHROMIUM), args=QUIET)
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def look(browser: Browser, live_server: Any, log_in: LogIn) -> Iterator[Look]:
    """Open a page as a person: ``look("kim", "/agent-capture/", width=390)``; the rest is the context's."""
    contexts: list[BrowserContext] = []

    def open_page(who: str, path: str, *, width: int = 1280, **options: Any) -> Page:
        size = ViewportSize(width=width, height=900)
        context = browser.new_context(base_url=live_server.url, viewport=size, **options)
        contexts.append(context)
        session = log_in(who).cookies["sessionid"].value
        context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
        page = context.new_page()
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
