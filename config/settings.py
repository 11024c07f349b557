"""Settings; every value comes from the environment through the typed readers of `config.env`."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import django_stubs_ext
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from config import data_folder, env
from config.log_settings import make_log_settings

django_stubs_ext.monkeypatch()  # forms and admin classes name their model: ModelForm[User]

BASE_DIR = Path(__file__).resolve().parent.parent

# Without DATABASE_URL and REDIS_URL the app runs private servers, the development default.
DATABASE_URL = env.text("DATABASE_URL", default="")
REDIS_URL = env.broker("REDIS_URL")
IS_EMBEDDED = not DATABASE_URL

DEBUG = env.debug("DEBUG")
SECRET_KEY = env.text("SECRET_KEY", default="") or (data_folder.secret_key() if IS_EMBEDDED else "")
if not SECRET_KEY:
    raise ImproperlyConfigured("Set SECRET_KEY: with DATABASE_URL set there is no default key.")

SITE_URL = env.address("SITE_URL")
IS_HTTPS = env.flag("HTTPS", default=SITE_URL.startswith("https://"))
ALLOWED_HOSTS = env.hosts("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"] if IS_EMBEDDED else [])
SITE_PATH = urlsplit(SITE_URL).path
CSRF_TRUSTED_ORIGINS = [SITE_URL.removesuffix(SITE_PATH)] if SITE_URL else []
FORCE_SCRIPT_NAME = SITE_PATH or None
DATA_DIR = data_folder.data_dir()
# What all hosts of a site have to see: stored files, erasures, unfinished work. Each host has a DATA_DIR of its own.
SHARED_DIR = BASE_DIR / env.text("SHARED_DIR", default=str(DATA_DIR))

INSTALLED_APPS = [
    # First: projects/admin.py removes their pages from the admin site.
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "config.apps.ConfigConfig",
    "demo.apps.DemoConfig",
    "results.apps.ResultsConfig",
    "annotate.apps.AnnotateConfig",
    "projects.apps.ProjectsConfig",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "rest_framework",
    "drf_spectacular",
]

MIDDLEWARE = [
    "projects.web.request_ids.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "config.monitoring.middleware.MonitoringMiddleware",
    "config.monitoring.middleware.MeasuringMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "projects.web.headers.HeadersMiddleware",
    "projects.web.upload_requests.UploadLimitMiddleware",
    "projects.accounts.session_store.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "projects.access.SignInMiddleware",
    "projects.language.languages.LanguageMiddleware",
    "projects.web.error_pages.NotAllowedMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        "django.template.loaders.filesystem.Loader",
                        "django.template.loaders.app_directories.Loader",
                    ],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
                "config.navigation.context.navigation",
                "config.help.help_link",
            ],
        },
    }
]

DATABASES = {
    "default": {
        "ENGINE": "projects.database.postgresql",
        "CONN_MAX_AGE": env.number("CONN_MAX_AGE", default=300),
        "CONN_HEALTH_CHECKS": True,
        **(env.database(DATABASE_URL) if DATABASE_URL else data_folder.database_settings()),
    }
}

# A replica of the database, which answers what may be some seconds old: results, exports and lists of the API. While it
# is further behind than the bound, or does not answer, the server itself does.
REPLICA_URL = env.text("REPLICA_URL", default="")
REPLICA_MAX_LAG = env.number("REPLICA_MAX_LAG", default=5, least=1, most=60)
HAS_REPLICA = bool(REPLICA_URL)
if HAS_REPLICA:
    found = env.database(REPLICA_URL, "REPLICA_URL")
    found["OPTIONS"] |= {"connect_timeout": "2", "tcp_user_timeout": "5000"}
    DATABASES["replica"] = {**DATABASES["default"], **found, "TEST": {"MIRROR": "default"}}

# Where DATABASE_URL leads to a pooler in transaction mode, this leads to the server itself. What needs a connection for
# longer than a transaction uses it: migrations, backups and restores.
DIRECT_DATABASE_URL = env.text("DIRECT_DATABASE_URL", default="")
HAS_POOLER = bool(DIRECT_DATABASE_URL)
if HAS_POOLER and IS_EMBEDDED:
    raise ImproperlyConfigured("DIRECT_DATABASE_URL is for a pooler: set DATABASE_URL, which leads to it, as well.")
DIRECT_DATABASE = env.database(DIRECT_DATABASE_URL, "DIRECT_DATABASE_URL") if HAS_POOLER else {}

# Seconds after which a web process gives up a statement, and the wait for a lock; 0 never does. Others have no limits.
STATEMENT_SECONDS = env.number("STATEMENT_SECONDS", default=30)
LOCK_SECONDS = env.number("LOCK_SECONDS", default=5)

# Seconds after which a job is stopped; 0 never does. The longest, a judgment set of millions, takes minutes.
JOB_SECONDS = env.number("JOB_SECONDS", default=6 * 3600)
# The same for jobs that somebody waits for, such as reports, and for metrics.
SHORT_JOB_SECONDS = env.number("SHORT_JOB_SECONDS", default=1800)
SCORING_JOB_SECONDS = env.number("SCORING_JOB_SECONDS", default=6 * 3600)

AUTH_USER_MODEL = "projects.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "projects.accounts.backends.AccountBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "projects.accounts.password_rules.MinimumLength", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
LOGIN_URL = "projects:sign-in"
LOGIN_REDIRECT_URL = "annotate:desk"
LOGOUT_REDIRECT_URL = "projects:sign-in"
PASSWORD_RESET_TIMEOUT = 3600  # one hour

# Sign-in throttling for a quarter of an hour: per account and address together, so that a slip blocks nobody else
# behind the same address. Higher bounds hold for an account from all addresses, and for an address on all accounts.
AXES_HANDLER = "projects.accounts.throttling.SignInHandler"
AXES_FAILURE_LIMIT = env.number("SIGN_IN_FAILURES", default=10, least=1)
ACCOUNT_FAILURE_LIMIT = 5 * AXES_FAILURE_LIMIT
ADDRESS_FAILURE_LIMIT = 10 * AXES_FAILURE_LIMIT
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_CALLABLE = "projects.accounts.views.locked_out"
# True would let anyone with an account clear the failures of their address on other accounts. `sign_in` resets instead.
AXES_RESET_ON_SUCCESS = False
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_VERBOSE = False
AXES_ENABLE_ADMIN = False
AXES_DISABLE_ACCESS_LOG = True
# What axes neither stores nor logs of a failed attempt, but for the address, which its table keeps for a time. “next”
# may lead to an invitation, whose address is a secret; the last three are of the page of the first account.
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "password", "next", "new_password1", "new_password2", "code"]
# X-Forwarded-For can be forged, so it is trusted only for as many proxies as the operator declares.
N_PROXIES = env.number("N_PROXIES", default=0)
AXES_CLIENT_IP_CALLABLE = "projects.web.client_address.client_address"

# django-allauth keeps second factors, passkeys and linked identities, behind the pages and acts of projects/accounts.
# None of its routes is included, and nobody can sign up through it.
ACCOUNT_ADAPTER = "projects.accounts.adapters.AccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
MFA_ADAPTER = "projects.accounts.adapters.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_TOTP_ISSUER = "Concord"
MFA_WEBAUTHN_USER_VERIFICATION = "required"  # a PIN, a finger or a face: a passkey alone is two factors
MFA_TOTP_TOLERANCE = 1  # steps of 30 seconds, for clocks that differ
SOCIALACCOUNT_ADAPTER = "projects.accounts.adapters.IdentityAdapter"
SOCIALACCOUNT_REQUESTS_TIMEOUT = 10  # seconds
MANAGERS_NEED_SECOND_FACTOR = env.flag("MANAGERS_NEED_SECOND_FACTOR", default=False)

# Single sign-on with one OpenID Connect provider; without an issuer there is none.
OIDC_ISSUER = env.text("OIDC_ISSUER", default="")
OIDC_NAME = env.text("OIDC_NAME", default="single sign-on")
OIDC_CLIENT_ID = env.text("OIDC_CLIENT_ID", default="")
OIDC_CLIENT_SECRET = env.text("OIDC_CLIENT_SECRET", default="")
OIDC_MATCH_EMAIL = env.flag("OIDC_MATCH_EMAIL", default=False)
if OIDC_ISSUER and not OIDC_CLIENT_ID:
    raise ImproperlyConfigured("For single sign-on, set OIDC_CLIENT_ID as well as OIDC_ISSUER.")

CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "default"},
    # Of projects with many judgments (annotate/frames/kept.py): an order of 300,000 candidates takes 3 MB.
    "kept": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "kept",
        "OPTIONS": {"MAX_ENTRIES": 12, "CULL_FREQUENCY": 12},
    },
}

SESSION_ENGINE = "projects.accounts.session_store"
# From the sign-in on, however often the session is saved.
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = IS_HTTPS
SESSION_COOKIE_NAME = "__Host-session" if IS_HTTPS else "session"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SECURE = IS_HTTPS
CSRF_COOKIE_NAME = "__Host-csrf" if IS_HTTPS else "csrf"
CSRF_FAILURE_VIEW = "annotate.work.views.csrf_failure"

SECURE_SSL_REDIRECT = IS_HTTPS and env.flag("SSL_REDIRECT", default=True)
# A monitor on this machine or in its network speaks plain http; these pages say nothing that is worth reading.
SECURE_REDIRECT_EXEMPT = [rf"^{re.escape(f'{SITE_PATH}/'[1:])}(health/(live|ready)|healthz|readyz|metrics)$"]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if IS_HTTPS else 0
# A site below a path shares its host with others, for whose subdomains it doesn't decide.
SECURE_HSTS_INCLUDE_SUBDOMAINS = IS_HTTPS and env.flag("HSTS_SUBDOMAINS", default=not SITE_PATH)
SECURE_HSTS_PRELOAD = SECURE_HSTS_INCLUDE_SUBDOMAINS
if not SECURE_HSTS_INCLUDE_SUBDOMAINS:
    SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
BEHIND_TLS_PROXY = env.flag("BEHIND_TLS_PROXY", default=False)
if BEHIND_TLS_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

LANGUAGE_CODE = "en"
LANGUAGES = [
    ("en", "English"),
    ("de", "Deutsch"),
    ("es", "Español"),
    ("fr", "Français"),
    ("ar", "العربية"),
    ("zh-hans", "简体中文"),
]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_NAME = "language"
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SECURE = IS_HTTPS

STATIC_URL = f"{SITE_PATH}/static/"
# An image has collected its static files already, in a folder that nobody can write to.
STATIC_ROOT = BASE_DIR / env.text("STATIC_ROOT", default=str(DATA_DIR / "static"))
GUIDES_DIR = BASE_DIR / "docs"  # the site shows the guides; their pictures are static files
STATICFILES_DIRS = [BASE_DIR / "static", ("guides", GUIDES_DIR / "img")]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "config.storage.ModuleStaticFilesStorage",
        # Whoever collects them is not always who serves them; FILE_UPLOAD_PERMISSIONS would hold for them too.
        "OPTIONS": {"file_permissions_mode": 0o644, "directory_permissions_mode": 0o755},
    },
}
MEDIA_ROOT = SHARED_DIR / "files"
FILE_UPLOAD_TEMP_DIR = str(data_folder.upload_dir())
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_500_000  # of a form without its files
# The largest HIT has 100 items with 20 criteria, a comment, a flag and a "cannot be judged" each: 2,300 fields.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 4_000
# A file; all files of a project; all that a person has sent. A project has room for a few of the largest.
MAX_UPLOAD_BYTES = env.number("MAX_UPLOAD_BYTES", default=512 * 1024 * 1024)
MAX_PROJECT_UPLOAD_BYTES = env.number("MAX_PROJECT_UPLOAD_BYTES", default=8 * MAX_UPLOAD_BYTES)
MAX_USER_UPLOAD_BYTES = env.number("MAX_USER_UPLOAD_BYTES", default=2 * MAX_PROJECT_UPLOAD_BYTES)
# For reading one file in a process of its own; twice the seconds by the clock. Parquet alone needs 100 MB.
READ_MEMORY_MB = env.number("READ_MEMORY_MB", default=300, least=150)
READ_SECONDS = env.number("READ_SECONDS", default=120, least=5)
# How long a client may pause while it sends a request or reads an answer.
STALL_SECONDS = env.number("STALL_SECONDS", default=60, least=1)
# In each web process. Not where there are proxies, whose addresses would be counted.
MAX_CONNECTIONS_PER_ADDRESS = env.number("MAX_CONNECTIONS_PER_ADDRESS", default=200)

REST_FRAMEWORK = {  # other options are in projects.api.auth.Endpoint
    "DEFAULT_SCHEMA_CLASS": "projects.api.openapi.Described",
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Concord",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "SCHEMA_PATH_PREFIX_TRIM": False,
    "POSTPROCESSING_HOOKS": ["projects.api.openapi.add_problems"],
    "GET_LIB_DOC_EXCLUDES": "projects.api.openapi.list_undescribed",
    "SORT_OPERATIONS": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
}
ADVISORIES = env.text("ADVISORIES", default="")  # for `manage.py audit`: a copy of the advisories of OSV
METRIC_MODULES = env.words("METRIC_MODULES")
# Models of learned metrics, each in a folder, and what they run on: threads (0: torch chooses) and device.
MODELS_DIR = BASE_DIR / env.text("MODELS_DIR", default=str(SHARED_DIR / "models"))
NEURAL_THREADS = env.number("NEURAL_THREADS", default=0, most=1024)
NEURAL_DEVICE = env.text("NEURAL_DEVICE", default="auto")
# The data of a deleted project are deleted for good after so many days; 0 keeps them.
KEEP_DELETED_DAYS = env.number("KEEP_DELETED_DAYS", default=30, most=3650)
# Under the names that the library of the Hugging Face Hub gives them; `manage.py publish` needs the token.
HF_TOKEN = env.text("HF_TOKEN", default="")
HF_ENDPOINT = env.text("HF_ENDPOINT", default="https://huggingface.co").rstrip("/")
API_REQUESTS_PER_MINUTE = env.number("API_REQUESTS_PER_MINUTE", default=300, least=1)  # per token

# Without a token /metrics is not there. The folder is shared by the web processes, which count their requests in it.
METRICS_TOKEN = env.text("METRICS_TOKEN", default="")
REQUEST_METRICS_DIR = env.text("PROMETHEUS_MULTIPROC_DIR", default="")

# Without EMAIL_HOST the site sends no email. Links in messages need the public address.
EMAIL_HOST = env.text("EMAIL_HOST", default="")
EMAIL_PORT = env.number("EMAIL_PORT", default=587)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER", default="")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD", default="")
EMAIL_USE_SSL = EMAIL_PORT == 465
EMAIL_USE_TLS = not EMAIL_USE_SSL and env.flag("EMAIL_USE_TLS", default=True)
EMAIL_TIMEOUT = 10  # seconds
DEFAULT_FROM_EMAIL = env.text("EMAIL_FROM", default="")
SENDS_EMAIL = bool(EMAIL_HOST)
if SENDS_EMAIL and not (DEFAULT_FROM_EMAIL and SITE_URL):
    raise ImproperlyConfigured("To send email, set EMAIL_FROM and SITE_URL as well as EMAIL_HOST.")

# Hosts that webhooks may reach although they lead to internal addresses; while developing, a listener on this machine.
WEBHOOK_ALLOWED_HOSTS = env.words("WEBHOOK_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"] if DEBUG else [])

# Prolific's API, for panels. A site-wide token is used by every project that has not connected an account of its own.
PROLIFIC_API_URL = env.text("PROLIFIC_API_URL", default="https://api.prolific.com").rstrip("/")
PROLIFIC_TOKEN = env.text("PROLIFIC_TOKEN", default="")
if not PROLIFIC_API_URL.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
    raise ImproperlyConfigured("PROLIFIC_API_URL must begin with https://: anyone on the way could read the token.")

CELERY_BROKER_URL = REDIS_URL or data_folder.redis_url()
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A message waits in the queue, where another worker finds it, rather than behind a job of this one.
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A request that queues a job waits two seconds at most for a broker that is down; the job is announced again later.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 2, "socket_timeout": 30}
CELERY_TIMEZONE = "UTC"
# Loaded by processes that send or run tasks. The others do without Celery, which would be a third of a command's start.
TASK_APP = "config.celery.app"

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# With “json” each line is an object for programs that collect logs, and every request and job gets a line.
LOG_FORMAT = env.choice("LOG_FORMAT", ("text", "json"), default="text")
# Errors are reported to Sentry only if this is set, and without texts: config/error_reports.py.
SENTRY_DSN = env.text("SENTRY_DSN", default="")

LOGGING = make_log_settings(LOG_FORMAT)
