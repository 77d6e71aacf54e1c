"""Django settings. Everything that differs between machines comes from the environment.

See the README for each variable: DATABASE_URL, NEEDS_YOU_STATE, SECRET_KEY, ALLOWED_HOSTS, HTTPS.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from csp.constants import NONE, SELF

from workspace.local import database_url, secret_key
from workspace.local.postgres import instance

BASE_DIR = Path(__file__).resolve().parent.parent
STATE_DIR = instance.state_dir()

DEBUG = False
HTTPS = os.environ.get("HTTPS", "") == "1"
SECRET_KEY = os.environ.get("SECRET_KEY") or secret_key.load_secret_key(STATE_DIR)
ALLOWED_HOSTS = [
    host.strip()
    for host in os.environ.get("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]").split(",")
    if host.strip()
]

INSTALLED_APPS = [
    "workspace.audit_site.AuditConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "axes",
    "channels",
    "csp",
    "django_htmx",
    "pgtrigger",
    "procrastinate.contrib.django",
    "agents",
    "asks",
    "workspace",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "workspace.pages.freshness.forbid_storing",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "workspace.pages.account.sign_in.OwnersOnly",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
    "workspace.accounts.devices.remember_device",
]

ROOT_URLCONF = "workspace.urls"
ASGI_APPLICATION = "workspace.asgi.application"

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

#: Settings of each connection on PostgreSQL's side. Without them, a machine that loses its network
#: in a transaction, or a process that is frozen in one, would hold its locks for hours.
SERVER_SIDE = {
    "plan_cache_mode": "force_generic_plan",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "10s",
    "idle_in_transaction_session_timeout": "60s",
}

#: psycopg's pool holds the connections: persistent ones under ASGI would use up PostgreSQL's limit.
#: The timeouts close a connection whose other side is gone, so that nothing hangs on it.
DATABASES = {
    "default": {
        **database_url.parse_database_url(
            os.environ.get("DATABASE_URL") or instance.database_url(STATE_DIR)
        ),
        "CONN_MAX_AGE": 0,
        "OPTIONS": {
            "pool": {
                "min_size": 1,
                "max_size": int(os.environ.get("DB_POOL_SIZE", "12")),
                "timeout": 10,
                # Then the pool starts over instead of retrying at ever longer intervals, so that
                # pages work again as soon as the database does.
                "reconnect_timeout": 2,
            },
            # Plan the statements of agents.db.statements once per connection. All other statements
            # contain their values and are planned with them.
            "prepare_threshold": 0,
            "options": " ".join(f"-c {name}={value}" for name, value in SERVER_SIDE.items()),
            "connect_timeout": 5,
            "keepalives_idle": 5,
            "keepalives_interval": 2,
            "keepalives_count": 3,
            "tcp_user_timeout": 10_000,
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "pages/locked.html"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "needs_you"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
#: Static files are served straight from the source tree, so a clone needs no collecting step.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
WHITENOISE_MAX_AGE = 3600

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "workspace.pages.errors.csrf_failure"
SECURE_SSL_REDIRECT = HTTPS
#: Probes come from the internal network, without TLS.
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
#: No form needs more. Larger requests are refused with 413 or 400 before they are read.
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

AGENT_TEXT_RENDERER = "workspace.text.markdown.render_markdown"

#: The command that receives events, as an argument list, and the kinds it wants; see docs/outside.md.
NEEDS_YOU_EVENT_HOOK = shlex.split(os.environ.get("NEEDS_YOU_EVENT_HOOK", ""))
NEEDS_YOU_EVENT_HOOK_KINDS = (
    os.environ.get("NEEDS_YOU_EVENT_HOOK_KINDS", "").replace(",", " ").split()
)
NEEDS_YOU_EVENT_HOOK_ENV = os.environ.get("NEEDS_YOU_EVENT_HOOK_ENV", "").replace(",", " ").split()
#: Allow webhooks to private addresses and over http, for tests and closed networks.
WEBHOOKS_ALLOW_PRIVATE = os.environ.get("WEBHOOKS_ALLOW_PRIVATE", "") == "1"

#: Seconds in which people can take an answer back that they gave on a page; each may choose other ones.
NEEDS_YOU_UNDO_SECONDS = int(os.environ.get("NEEDS_YOU_UNDO_SECONDS", "5"))

#: Seconds until a claim on a run expires without renewal, and the heartbeat of the queue.
RUN_LEASE_SECONDS = float(os.environ.get("RUN_LEASE_SECONDS", "15"))
PROCRASTINATE_WORKER_DEFAULTS = {"update_heartbeat_interval": 5.0, "stalled_worker_timeout": 15.0}

#: The ledger: seconds between signed anchors, and public keys of other machines that sign too.
LEDGER_ANCHOR_SECONDS = float(os.environ.get("LEDGER_ANCHOR_SECONDS", "600"))
LEDGER_TRUSTED_KEYS = os.environ.get("LEDGER_TRUSTED_KEYS", "").replace(",", " ").split()

#: The signed channel: a folder of signed decision files, and the file of allowed signers.
SIGNED_CHANNEL = os.environ.get("SIGNED_CHANNEL", "")
SIGNED_CHANNEL_ALLOWED_SIGNERS = os.environ.get("SIGNED_CHANNEL_ALLOWED_SIGNERS", "")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": os.environ.get("LOG_LEVEL", "WARNING")},
}
