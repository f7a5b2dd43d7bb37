# tfgen with git and the schemas of Kubernetes, for CI and for machines without Python:
#   docker build -t tfgen .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" tfgen check jobs

# The release replaces this stage with the published wheel (.github/workflows/release.yml).
FROM python:3.12.11-slim-bookworm AS wheel
RUN pip install --no-cache-dir "hatchling>=1.25"
COPY pyproject.toml README.md LICENSE /src/
COPY docs/rules.md /src/docs/rules.md
COPY schemas /src/schemas
COPY gen/tfgen /src/gen/tfgen
RUN cd /src && hatchling build --target wheel --directory /

FROM python:3.12.11-slim-bookworm

# The repository in /work belongs to another user. By default, git refuses such a repository.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory '*'

# The commands exec, tensorboard and profile run kubectl.
COPY --from=registry.k8s.io/kubectl:v1.36.3 /bin/kubectl /usr/local/bin/kubectl

COPY --from=wheel /*.whl /tmp/
RUN pip install --no-cache-dir "$(echo /tmp/*.whl)[kubernetes]" && rm /tmp/*.whl

ENV HOME=/tmp \
    PYTHONUNBUFFERED=1
WORKDIR /work
USER 65532:65532

ENTRYPOINT ["tfgen"]
