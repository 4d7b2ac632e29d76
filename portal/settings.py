"""Settings, in the order of Django's documentation, from the environment.

Defaults are those of a checkout: without DATABASE_URL and REDIS_URL the
embedded servers are started on demand, and a secret key is made and kept.
`SLICEWISE_PRODUCTION=true` demands all of them. `.env.example` lists every
variable.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import environ
from csp.constants import NONE, SELF
from django.utils.translation import gettext_lazy as _

from portal import embedded

env = environ.Env()
BASE_DIR = Path(__file__).resolve().parent.parent
PRODUCTION = env.bool("SLICEWISE_PRODUCTION", default=False)


def _kept_secret() -> str:
    path = embedded.state_dir() / "secret-key"
    with embedded.locked("secret-key"):
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(secrets.token_urlsafe(64))
        return path.read_text()


SECRET_KEY = (
    env("SECRET_KEY") if PRODUCTION else env("SECRET_KEY", default=_kept_secret())
)
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
DEBUG = env.bool("DEBUG", default=False)
ALLOWED_HOSTS = env.list(
    "ALLOWED_HOSTS",
    default=[] if PRODUCTION else ["localhost", "127.0.0.1", "[::1]", "testserver"],
)
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "portal.core.served.ServedFilesConfig",
    "django.contrib.humanize",
    "csp",
    "django_htmx",
    "template_partials",
    "pgtrigger",
    "pghistory",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "portal.core",
    "portal.audit",
    "portal.accounts",
    "portal.notices",
    "portal.api",
    "inventory",
    "claims",
    "portal.approvals",
    "portal.budgets",
    "portal.admission",
    "portal.adoption",
    "portal.operations",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "portal.core.static_files.StaticFilesMiddleware",
    "portal.core.middleware.request_id_middleware",
    "portal.core.middleware.counting_middleware",
    "portal.core.middleware.plain_address_middleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "portal.accounts.oidc.RenewalMiddleware",
    "portal.accounts.middleware.LoginRequiredMiddleware",
    "portal.accounts.middleware.SecondFactorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_permissions_policy.PermissionsPolicyMiddleware",
    "portal.core.problems.ProblemMiddleware",
]
ROOT_URLCONF = "portal.urls"
ASGI_APPLICATION = "portal.asgi.application"
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
                "django.template.context_processors.i18n",
                "portal.core.context_processors.page",
                "portal.frame.frame",
            ],
            "builtins": [
                "portal.core.templatetags.portal_ui",
                "django.templatetags.i18n",
                "template_partials.templatetags.partials",
            ],
        },
    }
]

_DATABASE_URL = env("DATABASE_URL") if PRODUCTION else env("DATABASE_URL", default="")
DATABASES = {"default": env.db_url_config(_DATABASE_URL or embedded.postgres_url())}
DATABASES["default"].setdefault("CONN_MAX_AGE", 0)
# What the address' query says, as ?sslmode=verify-full&sslrootcert=…, counts.
DATABASES["default"]["OPTIONS"] = {
    "application_name": "slicewise",
    **DATABASES["default"].get("OPTIONS", {}),
}
# How many connections a process keeps, for its threads to take turns at; 0: each opens its
# own. For web processes, where each request has a thread, and opening takes longer than most.
if _KEPT := env.int("SLICEWISE_DATABASE_POOL", default=0):
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    DATABASES["default"]["OPTIONS"]["pool"] = {
        "min_size": 1,
        "max_size": _KEPT,
        "timeout": 5.0,
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env("REDIS_URL") if PRODUCTION else env("REDIS_URL", default="")
if not REDIS_URL:
    REDIS_URL = f"unix://{embedded.valkey_socket()}"
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "slicewise",
    }
}

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "portal.accounts.oidc.Backend",
]
# The sign-in provider (OpenID Connect); "" for none. See docs/sign-in.md.
SLICEWISE_OIDC_ISSUER = env("SLICEWISE_OIDC_ISSUER", default="")
# For whom access tokens must be, if the API takes them; empty: it does not.
SLICEWISE_OIDC_AUDIENCE = env("SLICEWISE_OIDC_AUDIENCE", default="")
# As the clusters' API servers have it: --oidc-username-claim, -prefix, --oidc-groups-claim.
SLICEWISE_OIDC_USERNAME_CLAIM = env("SLICEWISE_OIDC_USERNAME_CLAIM", default="email")
SLICEWISE_OIDC_USERNAME_PREFIX = env("SLICEWISE_OIDC_USERNAME_PREFIX", default="")
SLICEWISE_OIDC_GROUPS_CLAIM = env("SLICEWISE_OIDC_GROUPS_CLAIM", default="groups")
OIDC_RP_CLIENT_ID = env("SLICEWISE_OIDC_CLIENT_ID", default="slicewise")
OIDC_RP_CLIENT_SECRET = env("SLICEWISE_OIDC_CLIENT_SECRET", default="")
OIDC_RP_SCOPES = env("SLICEWISE_OIDC_SCOPES", default="openid email profile")
OIDC_RP_SIGN_ALGO = env("SLICEWISE_OIDC_ALGORITHM", default="RS256")
OIDC_USE_PKCE = True
OIDC_TIMEOUT = 5
OIDC_AUTHENTICATION_CALLBACK_URL = "accounts:provider-back"
# The provider has to vouch anew for whoever opens a page after so many seconds.
OIDC_RENEW_ID_TOKEN_EXPIRY_SECONDS = env.int("SLICEWISE_OIDC_RENEW_SECONDS", 900)
LOGIN_URL = "accounts:sign-in"
LOGIN_REDIRECT_URL = "inventory:home"
LOGOUT_REDIRECT_URL = "accounts:sign-in"
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
# Roles whose people must have a second factor, where they sign in with a password:
# approver, admin, auditor, or everyone. Empty: whoever wants one has one.
SLICEWISE_SECOND_FACTOR_ROLES = env.list("SLICEWISE_SECOND_FACTOR_ROLES", default=[])
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"
    },
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("ko", _("Korean"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = env("TIME_ZONE", default="UTC")

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "static-root"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not PRODUCTION
WHITENOISE_AUTOREFRESH = not PRODUCTION
WHITENOISE_MAX_AGE = 60 if PRODUCTION else 0

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION
SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", default=PRODUCTION)
# Probes and Prometheus speak to the process itself, without the proxy's TLS.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = PRODUCTION
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if env.bool("TRUST_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "object-src": [NONE],
        "frame-ancestors": [NONE],
    }
}
PERMISSIONS_POLICY: dict[str, list[str]] = {
    name: [] for name in ("camera", "geolocation", "microphone", "payment", "usb")
}
# "smtp://user:password@mail.example.com:587"; without it no e-mail is offered.
SLICEWISE_EMAIL_URL = env("SLICEWISE_EMAIL_URL", default="")
vars().update(env.email_url_config(SLICEWISE_EMAIL_URL or "dummymail://"))
DEFAULT_FROM_EMAIL = env("DEFAULT_FROM_EMAIL", default="slicewise@localhost")
EMAIL_TIMEOUT = 10
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

_BROKER = REDIS_URL.replace("unix://", "redis+socket://", 1)
CELERY_BROKER_URL = _BROKER
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
# No time limits: threads, which our workers run tasks in, cannot be ended from outside.
# Every call that leaves a task ends by itself instead, however slowly it is answered
# (portal/core/deadlines.py), and a lease that runs out gives the row to another worker;
# see docs/runbook.md.
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
    "visibility_timeout": 300,
    # Whoever publishes a hint must not wait for a broker that is away.
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
}
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULER = "portal.celery:AliveScheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(embedded.run_dir() / "beat-schedule")
CELERY_BEAT_SCHEDULE = {
    "audit.seal": {
        "task": "audit.seal",
        "schedule": 5.0,
        "options": {"expires": 5},
    },
    # Once a minute, so that one lost message loses no five-minute slot.
    "inventory.record_history": {
        "task": "inventory.record_history",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "notices.sweep": {
        "task": "notices.sweep",
        "schedule": 5.0,
        "options": {"expires": 5},
    },
    "inventory.read_meters": {
        "task": "inventory.read_meters",
        "schedule": 30.0,
        "options": {"expires": 30},
    },
    "admission.look": {
        "task": "admission.look",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "admission.certificates": {
        "task": "admission.certificates",
        "schedule": 3600.0,
        "options": {"expires": 3600},
    },
    "claims.sweep": {
        "task": "claims.sweep",
        "schedule": 5.0,
        "options": {"expires": 5},
    },
}

PGHISTORY_APPEND_ONLY = True

REST_FRAMEWORK = {"URL_FORMAT_OVERRIDE": None}
SPECTACULAR_SETTINGS = {
    "OAS_VERSION": "3.1.0",
    "TITLE": "Slicewise",
    "VERSION": "1",
    "DESCRIPTION": "GPU inventory and self-service requests for Kubernetes DRA.",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": ["portal.api.schema.with_shared_parts"],
}
DRF_STANDARDIZED_ERRORS = {"NESTED_FIELD_SEPARATOR": "/"}
# Requests a minute of one token, or of one person in a browser.
SLICEWISE_API_RATES = {
    "read": env.int("SLICEWISE_API_READS", default=1200),
    "check": env.int("SLICEWISE_API_CHECKS", default=300),
    "write": env.int("SLICEWISE_API_WRITES", default=120),
}

# After so many hours its owner is told of a claim that no pod uses.
SLICEWISE_IDLE_HOURS = env.float("SLICEWISE_IDLE_HOURS", default=6.0)
SLICEWISE_RUN_DIR = env("SLICEWISE_RUN_DIR", default=str(embedded.run_dir()))
# Whether something else starts the engines there, as containers beside this one.
SLICEWISE_ENGINES_EXTERNAL = env.bool("SLICEWISE_ENGINES_EXTERNAL", default=False)
SLICEWISE_PREVIEW_BUDGET_SECONDS = env.float(
    "SLICEWISE_PREVIEW_BUDGET_SECONDS", default=2.0
)
SLICEWISE_ENGINE_DEADLINE_SECONDS = env.float(
    "SLICEWISE_ENGINE_DEADLINE_SECONDS", default=10.0
)
# Hosts and networks that webhooks and Prometheus may be called at though they are
# inward (loopback, link-local); see portal.core.outward.
SLICEWISE_OUTWARD_ALLOW = env.list("SLICEWISE_OUTWARD_ALLOW", default=[])
# How the portal is reached, for links in what it sends; "" leaves the host out.
SLICEWISE_PUBLIC_URL = env("SLICEWISE_PUBLIC_URL", default="").rstrip("/")
# /metrics without a token, for whoever asks from this host itself; never behind a
# proxy on the same host, whose requests come from there, too.
SLICEWISE_METRICS_LOOPBACK = env.bool("SLICEWISE_METRICS_LOOPBACK", default=False)
# Have /metrics name tenants; whoever reads it then sees them all.
SLICEWISE_METRICS_TENANTS = env.bool("SLICEWISE_METRICS_TENANTS", default=False)
# Events are kept and can be read again for so many days.
SLICEWISE_NOTICE_DAYS = env.int("SLICEWISE_NOTICE_DAYS", default=30)
# Whether API servers' admission reviews are answered; only serve_admission does it.
SLICEWISE_ADMISSION = env.bool("SLICEWISE_ADMISSION", default=False)
# The cluster of reviews whose address names none; "" where there is only one.
SLICEWISE_ADMISSION_CLUSTER = env("SLICEWISE_ADMISSION_CLUSTER", default="")
# What API servers call it: names and addresses in its certificate.
SLICEWISE_ADMISSION_HOSTS = env.list(
    "SLICEWISE_ADMISSION_HOSTS",
    default=[
        "slicewise-admission.slicewise.svc",
        "slicewise-admission.slicewise.svc.cluster.local",
        "localhost",
        "127.0.0.1",
    ],
)
SLICEWISE_ADVISOR_URL = env("SLICEWISE_ADVISOR_URL", default="")
SLICEWISE_ADVISOR_KEY = env("SLICEWISE_ADVISOR_KEY", default="")
SLICEWISE_ADVISOR_MODEL = env("SLICEWISE_ADVISOR_MODEL", default="jev-latest")
SLICEWISE_ADVISOR_LANGUAGE = env("SLICEWISE_ADVISOR_LANGUAGE", default="ko")
# The demo's own controls (start a pod) are shown where this is on.
SLICEWISE_DEMO = env.bool("SLICEWISE_DEMO", default=False)

LOGGING_CONFIG = None
