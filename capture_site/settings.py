"""Django's settings, from the environment that ``capture_site.env`` read. ``docs/settings.md`` lists it."""

import importlib.util

from capture_site.env import BASE_DIR, load
from capture_site.logs import logging_settings

ENV = load()

SECRET_KEY = ENV.secret_key
DEBUG = ENV.debug
ALLOWED_HOSTS = ENV.allowed_hosts
CSRF_TRUSTED_ORIGINS = ENV.csrf_trusted_origins

# What the product itself reads.
AGENT_CAPTURE_SERVICE_KEYS = ENV.service_keys
CAPTURE_TTL_SECONDS = ENV.ttl_seconds
CAPTURE_METRICS_FOLDER = ENV.metrics_folder
CAPTURE_IS_SERVICE = not DEBUG and not ENV.is_embedded  # the embedded stack is plain http on loopback

# The example is there where its own requirements are (requirements-dev.txt); a server does without.
_HAS_EXAMPLE = all(importlib.util.find_spec(name) for name in ("pokerkit", "httpx", "examples.poker.apps"))

INSTALLED_APPS = [
    "capture.apps.CaptureConfig",
    "viewer.apps.ViewerConfig",
    *(["examples.poker.apps.PokerConfig"] if _HAS_EXAMPLE else []),
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "capture_site.middleware.RequestIdMiddleware",
    "capture_site.middleware.RequestLogMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "viewer.middleware.StoreDownMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "viewer.middleware.ContentPolicyMiddleware",
]

ROOT_URLCONF = "capture_site.urls"
WSGI_APPLICATION = "capture_site.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# psycopg keeps a pool a process; no connection within two seconds is an error, not a longer wait.
_POOL = {"min_size": 1, "max_size": 10, "timeout": 2}
DATABASES = {
    "default": ENV.database
    | {"CONN_MAX_AGE": 0, "OPTIONS": ENV.database.get("OPTIONS", {}) | {"pool": _POOL, "connect_timeout": 5}},
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

_REDIS = {
    "BACKEND": "django_redis.cache.RedisCache",
    "OPTIONS": {
        "SOCKET_CONNECT_TIMEOUT": 1,
        "SOCKET_TIMEOUT": 2,
        "CONNECTION_POOL_CLASS": "redis.BlockingConnectionPool",
        "CONNECTION_POOL_KWARGS": {"max_connections": 20, "timeout": 2},
    },
}
# "capture" is no cache: it is how the connection to the capture Redis is configured, pooled and bounded.
_CAPTURE = _REDIS | {"LOCATION": ENV.capture_redis_url}
_CACHE = (
    _REDIS | {"LOCATION": ENV.cache_redis_url}
    if ENV.cache_redis_url
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
)
CACHES = {"default": _CACHE, "capture": _CAPTURE}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "admin:login"

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# Behind a proxy that serves us below a path, and takes that path off what it hands on.
FORCE_SCRIPT_NAME = ENV.url_prefix or None
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = f"{ENV.url_prefix}/"

X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "capture.api.handlers.csrf_failure"
if CAPTURE_IS_SERVICE:
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]  # a load balancer asks by plain http
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
if ENV.trust_proxy_tls:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

LOGGING = logging_settings(ENV.log_format, is_quiet=ENV.is_embedded, shows_errors=DEBUG)
