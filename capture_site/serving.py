"""gunicorn's configuration, which ``manage.py serve`` names: log lines like the project's, figures of all workers."""

import gc
import logging.config
import shutil
from typing import Any, Final

from gunicorn.glogging import Logger
from prometheus_client.multiprocess import mark_process_dead

from capture_site.env import load
from capture_site.logs import logging_settings

_ENV: Final = load()
_COLLECT_EVERY: Final = (50_000, 20, 20)


class ProjectLogger(Logger):  # type: ignore[misc] # gunicorn has no annotations
    """gunicorn's own lines, written as all others are. It keeps no access log: that would hold addresses."""

    def setup(self, cfg: Any) -> None:
        """Hand the lines to the root logger, also in the master, which never loads Django's settings."""
        super().setup(cfg)
        form = logging_settings(_ENV.log_format, is_quiet=_ENV.is_embedded, shows_errors=_ENV.debug)
        logging.config.dictConfig(form)
        self.error_log.handlers, self.error_log.propagate = [], True


wsgi_app = "capture_site.wsgi:application"
threads = 4
logger_class = ProjectLogger
control_socket_disable = True  # a second way in that nobody needs, at a path that two services would share


def post_worker_init(worker: Any) -> None:
    """A hand is some ten thousand objects, none of which is garbage until its answer has left.

    Python's collector would walk all of them again every few hundred; reading a hand takes an eighth less time when it
    looks less often, and not at what the process was started with.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_EVERY)


def child_exit(server: Any, worker: Any) -> None:
    """A worker has ended: what it counted stays counted, what it measured of itself ends with it."""
    if _ENV.metrics_folder:
        mark_process_dead(worker.pid, path=_ENV.metrics_folder)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:
    """The folder of the figures goes with the last master; one that was replaced leaves it to the next."""
    if _ENV.metrics_folder and not server.reexec_pid:
        shutil.rmtree(_ENV.metrics_folder, ignore_errors=True)
