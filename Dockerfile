# An image of Concord without the private servers: it needs a PostgreSQL and a Redis or Valkey of its own (compose.yaml).
# The interpreter is the one that the tests run on.
ARG PYTHON=python:3.11-slim-trixie

FROM ${PYTHON} AS build
# Extras beside requirements.txt, such as “sentry chinese”.
ARG EXTRAS=""
# The build of torch for the extra “neural”: “cpu”, or one for CUDA such as “cu130”.
ARG TORCH_BACKEND="cpu"
WORKDIR /app
COPY requirements*.txt ./
RUN python -m venv /opt/venv
RUN case " $EXTRAS " in *" neural "*) \
    python -m pip install --no-cache-dir --disable-pip-version-check uv==0.13.8 && \
    python -m uv pip install --no-cache --python /opt/venv/bin/python --torch-backend "$TORCH_BACKEND" \
        "$(grep -oE '^torch==[0-9.]+' requirements-neural.txt)" ;; esac
RUN set -- requirements.txt; for extra in $EXTRAS; do set -- "$@" "requirements-$extra.txt"; done; \
    for file in "$@"; do set -- "$@" -r "$file"; shift; done; \
    /opt/venv/bin/python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes "$@"
COPY . .
# Nothing is connected to and no key is kept: both commands only read settings.
RUN DATABASE_URL=postgres://build@localhost/build REDIS_URL=redis://localhost ALLOWED_HOSTS=localhost \
    SECRET_KEY=build-$(python -c 'import secrets; print(secrets.token_hex(32))') DATA_DIR=/tmp/build STATIC_ROOT=/app/collected \
    sh -c '/opt/venv/bin/python manage.py translations --compile && /opt/venv/bin/python manage.py collectstatic --noinput --verbosity 0'
# A checkout may have been made by somebody whose files nobody else may read.
RUN /opt/venv/bin/python -m compileall -q /app /opt/venv/lib && chmod -R a+rX /app /opt/venv

FROM ${PYTHON}
# pg_dump and pg_restore for backups: Debian's are of PostgreSQL 17, like the server in compose.yaml, and read older ones.
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql-client && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --no-create-home --home-dir /nonexistent concord && install -d -o 10001 -m 0700 /data
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DATA_DIR=/data \
    STATIC_ROOT=/app/collected \
    LOG_FORMAT=json \
    PROMETHEUS_MULTIPROC_DIR=/tmp/metrics
WORKDIR /app
USER 10001
VOLUME /data
EXPOSE 8000
CMD ["gunicorn", "-c", "python:config.web.options", "--workers", "2", "--bind", "0.0.0.0:8000"]
