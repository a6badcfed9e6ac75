"""Below a path of a proxy that ends TLS: login, links, forms, redirects, static files and cookies."""

import re

import pytest

from tests.site_process import PRODUCTION, ask, manage, run

PREFIX = "/tools/capture"
BEHIND = PRODUCTION | {"URL_PREFIX": f"{PREFIX}/", "TRUST_PROXY_TLS": "1"}
TLS = {"X-Forwarded-Proto": "https"}


def test_who_is_not_logged_in_is_led_below_the_prefix() -> None:
    answer = ask(BEHIND, "/agent-capture/hand?tableId=t&handNumber=1", headers=TLS)
    assert answer.status == 302
    wanted = f"{PREFIX}/admin/login/?next={PREFIX}/agent-capture/hand"
    assert answer.headers["location"].startswith(wanted)


def test_the_root_leads_to_the_pages_below_it() -> None:
    assert ask(BEHIND, "/", headers=TLS).headers["location"] == f"{PREFIX}/agent-capture/"


def test_the_login_has_its_files_and_its_form_there() -> None:
    answer = ask(BEHIND, "/admin/login/", headers=TLS)
    files = re.findall(r'(?:href|src)="([^"]*static[^"]*)"', answer.body)
    assert files
    assert all(each.startswith(f"{PREFIX}/static/") for each in files)
    assert f'action="{PREFIX}/admin/login/"' in answer.body


def test_cookies_stay_below_the_prefix() -> None:
    said = "from django.conf import settings; print(settings.SESSION_COOKIE_PATH, settings.CSRF_COOKIE_PATH)"
    finished = run("-c", said, environment=BEHIND | {"DJANGO_SETTINGS_MODULE": "capture_site.settings"})
    assert finished.stdout.split() == [f"{PREFIX}/", f"{PREFIX}/"]


def test_plain_http_from_the_proxy_is_led_to_tls() -> None:
    answer = ask(BEHIND, "/agent-capture/", headers={"X-Forwarded-Proto": "http"})
    assert (answer.status, answer.headers["location"][:8]) == (301, "https://")


@pytest.mark.parametrize("prefix", ["tools", "/a b", "/a?b", "//", "/<x>"])
def test_a_prefix_that_is_none_is_named(prefix: str) -> None:
    finished = manage("check", environment=PRODUCTION | {"URL_PREFIX": prefix})
    if prefix == "//":  # nothing is left of it: the root
        assert "URL_PREFIX" not in finished.stderr
    else:
        assert "URL_PREFIX must be a path such as /tools/capture" in finished.stderr
