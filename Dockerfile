# The one image: `python -m fairlane operator`, `agent`, `load` and `model`. The router pod's Envoy is any Envoy image.
FROM docker.io/library/python:3.11-slim AS build
RUN python3 -m venv /opt/uv && /opt/uv/bin/pip install --quiet uv==0.13.9
ENV UV_PROJECT_ENVIRONMENT=/opt/fairlane UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_SYSTEM_CERTS=1
WORKDIR /src
COPY pyproject.toml uv.lock ./
RUN /opt/uv/bin/uv sync --frozen --no-dev --no-install-project
COPY README.md ./
COPY operator ./operator
RUN /opt/uv/bin/uv pip install --quiet --no-deps --python /opt/fairlane/bin/python --prefix /opt/project .

FROM docker.io/library/python:3.11-slim
# two layers, because what the product depends on changes more rarely than the product
COPY --from=build /opt/fairlane /opt/fairlane
COPY --from=build /opt/project /opt/fairlane
ENV PATH=/opt/fairlane/bin:/usr/local/bin:/usr/bin:/bin PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["python", "-m", "fairlane"]
