# The version that requirements-runtime.lock is resolved for.
ARG PYTHON=3.11

# Build: a virtual environment with the locked dependencies, without the extra `dev`, and the program.
FROM python:${PYTHON}-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=1
WORKDIR /src
RUN python -m venv --without-pip /opt/espalier \
    && pip install "setuptools>=77"
COPY requirements-runtime.lock ./
RUN pip --python /opt/espalier/bin/python install --require-hashes -r requirements-runtime.lock
COPY pyproject.toml README.md LICENSE ./
COPY webhook webhook
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /tmp/wheel . \
    && pip --python /opt/espalier/bin/python install --no-deps /tmp/wheel/*.whl \
    && python -m compileall -q /opt/espalier/lib

# Run: an unprivileged account; nothing writes outside /tmp, so the root may be read-only.
FROM python:${PYTHON}-slim
LABEL org.opencontainers.image.title="espalier" \
      org.opencontainers.image.description="Admission, scheduling and automation for Gardener-style landscapes" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/opt/espalier/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
COPY --from=build /opt/espalier /opt/espalier
USER 65532:65532
EXPOSE 9443 8080
ENTRYPOINT ["espalier"]
CMD ["serve"]
