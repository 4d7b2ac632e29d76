# syntax=docker/dockerfile:1
# One image for web, watcher, worker and beat, with the engines of all supported minors.

FROM golang:1.27-bookworm AS engine
# The base image is what pins the distribution; its mirrors keep no older versions.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends python3 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY engine/ engine/
ENV CGO_ENABLED=0
RUN --mount=type=cache,target=/root/.cache/go-build --mount=type=cache,target=/go/pkg/mod \
    python3 engine/build.py --versions all --out /out \
    && mkdir /engines && cp -L /out/engine-* /engines/

FROM python:3.11-slim-bookworm AS packages
WORKDIR /app
COPY requirements/run.lock requirements/run.lock
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements/run.lock

FROM python:3.11-slim-bookworm
RUN groupadd --system --gid 10001 slicewise \
    && useradd --system --uid 10001 --gid 10001 --home-dir /app --shell /usr/sbin/nologin slicewise \
    && install -d -o slicewise -g slicewise /run/slicewise /var/lib/slicewise
WORKDIR /app
COPY --from=packages /venv /venv
COPY manage.py ./
COPY portal/ portal/
COPY inventory/ inventory/
COPY claims/ claims/
COPY templates/ templates/
COPY static/ static/
COPY locale/ locale/
COPY scripts/messages.py scripts/messages.py
COPY engine/build.py engine/build.py
COPY --from=engine /engines/ engine/bin/
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    SLICEWISE_PRODUCTION=true \
    SLICEWISE_STATE_DIR=/var/lib/slicewise \
    SLICEWISE_RUN_DIR=/run/slicewise \
    FORWARDED_ALLOW_IPS=
# The values of this one command only let the settings load; nothing of them stays.
RUN python scripts/messages.py compile \
    && SECRET_KEY=build DATABASE_URL=postgres://build@/build REDIS_URL=redis://build ALLOWED_HOSTS=build \
    python manage.py collectstatic --noinput
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-m", "portal.alive", "web"]
CMD ["python", "-m", "uvicorn", "portal.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--lifespan", "off", "--no-access-log", "--timeout-graceful-shutdown", "5"]
