# The doctor without the trainer: docker build -t hrmdoc . && docker run --rm -v "$PWD:/runs:ro" hrmdoc analyze /runs/train.log
# With extras, as the alerts of a sidecar: docker build --build-arg EXTRAS='[alerts,metrics]' -t hrmdoc .
FROM python:3.12-slim AS build
ARG EXTRAS=""
COPY . /src
RUN python -m venv /opt/hrmdoc \
    && /opt/hrmdoc/bin/python -m pip install --no-cache-dir --constraint /src/constraints.txt "/src${EXTRAS}"

FROM python:3.12-slim
COPY --from=build /opt/hrmdoc /opt/hrmdoc
# State and caches lie in the home of a user without rights elsewhere; mount a volume there to keep them.
RUN useradd --create-home --uid 10001 hrmdoc
USER hrmdoc
WORKDIR /runs
ENV PATH="/opt/hrmdoc/bin:$PATH"
ENTRYPOINT ["hrmdoc"]
CMD ["--help"]
