"""The site, served by this process on loopback: for people while the demo plays, and to read back through."""

import threading
from types import TracebackType
from typing import Any, Self

from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application


class SiteError(Exception):
    """The site cannot be served; the message names cause and remedy."""


class _Quiet(WSGIRequestHandler):
    disable_nagle_algorithm = True  # headers and body are two writes, and nobody should wait between them

    def log_message(self, format: str, *args: Any) -> None:
        """The demo's output is its own."""


class Site:
    """A context manager that serves until it ends. Port 0 takes a free one. Raises SiteError."""

    def __init__(self, port: int) -> None:
        try:
            self._server = ThreadedWSGIServer(("127.0.0.1", port), _Quiet)
        except OSError as exc:
            raise SiteError(f"port {port} cannot be used ({exc.strerror}): name another with --port") from exc
        except OverflowError as exc:
            raise SiteError(f"{port} is not a port: --port takes 0 to 65535") from exc
        self._server.daemon_threads = True
        self._server.set_app(get_wsgi_application())
        self._thread = threading.Thread(target=self._server.serve_forever, name="site", daemon=True)

    @property
    def url(self) -> str:
        """The site's address, without a slash at its end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def wait(self) -> None:
        """Serve until somebody interrupts."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
