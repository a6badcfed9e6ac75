"""Who may see the pages: staff who hold the permission, and nobody by default."""

import functools
from collections.abc import Callable

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page

View = Callable[[HttpRequest], HttpResponse]


def staff_page(permission: str, *, method: str = "GET", is_compressed: bool = True) -> Callable[[View], View]:
    """A page of the admin's frame for staff with ``permission``; anybody else logs in, or is refused.

    Pages are compressed, with bytes of random length against the guessing of what they hold by their size. A download
    is not: its length is that of the bytes.
    """

    def wrap(view: View) -> View:
        @never_cache
        @functools.wraps(view)
        def admitted(request: HttpRequest) -> HttpResponse:
            user = request.user
            if not user.is_authenticated:
                return redirect_to_login(request.get_full_path(), reverse("admin:login"))
            if not user.is_staff or not user.has_perm(permission):
                return framed(request, "viewer/refused.html", {"permission": permission}, status=403)
            if request.method != method and not (method == "GET" and request.method == "HEAD"):
                return HttpResponse(status=405, headers={"Allow": method})
            return view(request)

        return gzip_page(admitted) if is_compressed else admitted

    return wrap


def framed(
    request: HttpRequest, template: str, context: dict[str, object], *, status: int = 200
) -> HttpResponse:
    """Render a page inside the admin's frame: its theme, its user links, its breadcrumbs."""
    return render(request, template, admin.site.each_context(request) | context, status=status)


def bad_address(request: HttpRequest, error: Exception, *, what: str = "hand") -> HttpResponse:
    """The page for an address that names nothing: it says which value, and what is wanted."""
    return framed(request, "viewer/bad_address.html", {"error": str(error), "what": what}, status=400)
