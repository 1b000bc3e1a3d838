# The image of the role that renders, on that of all roles:
#   docker build --file deploy/render.Dockerfile --build-arg IMAGE=scentline:0.2.0 --tag scentline-render:0.2.0 deploy
ARG BASE=docker.io/library/python:3.12-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254
ARG IMAGE=scentline:0.2.0

FROM ${BASE} AS build
WORKDIR /source
COPY render.lock ./
RUN python -m pip install --no-cache-dir --require-hashes --only-binary :all: --target /extra --requirement render.lock

FROM ${IMAGE}
USER 0:0
# Chromium is the newest that Debian has: a browser of last year is not safe.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends chromium-headless-shell \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /extra /opt/scentline/lib/python3.12/site-packages
USER 10001:10001
