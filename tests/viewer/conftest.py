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
from playwright.sync_api import Browser, Error, Page, ViewportSize, sync_playwright

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


class Tabs:
    """Pages that tests use one after the other, by what they were opened with: a new one takes the browser a second.

    What a test left in one is taken out of it: its session, what scripts stored, where it was.
    """

    def __init__(self, browser: Browser, base_url: str) -> None:
        self._browser, self._base_url = browser, base_url
        self._free: dict[str, list[Page]] = {}
        self._used: list[tuple[str, Page]] = []

    def take(self, options: dict[str, Any]) -> Page:
        """A page that no other call has until ``give_back``."""
        kind = repr(sorted(options.items()))
        free = self._free.setdefault(kind, [])
        page = free.pop() if free else self.new(options)
        self._used.append((kind, page))
        return page

    def new(self, options: dict[str, Any]) -> Page:
        """A new page in a context of its own."""
        return self._browser.new_context(base_url=self._base_url, **options).new_page()

    def give_back(self) -> None:
        """All that were taken may be taken again."""
        while self._used:
            kind, page = self._used.pop()
            try:
                page.goto("/robots.txt")  # an address of the site that has no script
                page.evaluate("localStorage.clear(); sessionStorage.clear()")
                page.context.clear_cookies()
            except Error:
                page.context.close()
            else:
                self._free[kind].append(page)


@pytest.fixture(scope="module")
def tabs(browser: Browser, live_server: Any) -> Tabs:
    return Tabs(browser, live_server.url)


@pytest.fixture
def look(tabs: Tabs, live_server: Any, log_in: LogIn) -> Iterator[Look]:
    """Open a page as a person: ``look("kim", "/agent-capture/", width=390)``; the rest is the context's.

    ``is_own`` is for a test that listens to what its page does: no other test gets that page.
    """
    own: list[Page] = []

    def open_page(who: str, path: str, *, width: int = 1280, is_own: bool = False, **options: Any) -> Page:
        page = tabs.new(options) if is_own else tabs.take(options)
        if is_own:
            own.append(page)
        page.set_viewport_size(ViewportSize(width=width, height=900))
        session = log_in(who).cookies["sessionid"].value
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
        page.goto(path)
        return page

    yield open_page
    for page in own:
        page.context.close()
    tabs.give_back()
