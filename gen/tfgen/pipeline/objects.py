"""Build the objects of jobs, for commands that print or apply objects and write no files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tfgen.check.checked import CachedFile, from_cache, read_cached_files, read_cached_jobs
from tfgen.check.jobs import check_all
from tfgen.errors import Problem, has_errors, in_order
from tfgen.graph.graph import BuiltJob, build
from tfgen.job.facts import check_environment
from tfgen.job.sources import Source
from tfgen.kubernetes.object import Object, in_namespace
from tfgen.text.document import Document


def find_object_problems(jobs: Sequence[tuple[Document, BuiltJob]]) -> Iterator[Problem]:
    """Yield the problems of the objects of jobs, without a check against hand-written manifests such as quotas.

    Args:
        jobs: the valid jobs, each with the objects of some or all environments.
    """
    from tfgen.check.object_schemas import ObjectSchemas  # these imports take 40 ms, which cached files save
    from tfgen.check.objects import check_objects  # 30 ms
    from tfgen.check.source import set_severities  # 10 ms

    for document, built in jobs:
        yield from set_severities(document, check_objects(document, built, ObjectSchemas())).problems


def render_sources(sources: Sequence[Source], environment: str | None) -> tuple[list[Object], tuple[Problem, ...]]:
    """Check job files, and return the objects of the jobs and all problems. Cached files are not checked again.

    If a job has errors, the function returns no objects.

    Args:
        sources: the job files.
        environment: the environment of the objects; None for the jobs without an environment.

    Raises:
        UsageError: a job does not have the environment.
    """
    cached = read_cached_files(sources)
    results = {source.file: from_cache(source, cached[source.file]) for source in sources if source.file in cached}
    checked = check_all(sources, results)
    if has_errors(checked.problems):
        return [], checked.problems
    documents = [
        document
        for file in checked.files
        for document in (
            _cached_documents(file.source, cached[file.source.file])
            if file.source.file in cached
            else checked.read[file.source.file].documents
        )
    ]
    # A cached file without object problems has no object problem in any environment.
    valid_files = {name for name, file in cached.items() if not file.object_problems}
    objects, problems = render_objects(documents, environment, valid_files, with_namespaces=True)
    return objects, in_order((*checked.problems, *problems))


def _cached_documents(source: Source, file: CachedFile) -> Sequence[Document]:
    """Return the jobs of a cached file. A file with problems is read again, to find the lines of the problems."""
    jobs = None if file.object_problems else read_cached_jobs(source)
    if jobs is None:
        from tfgen.job.sources import read_documents  # takes 20 ms, which most cached files do not need

        return read_documents(source)
    return [Document.without_places(source.file, data) for data in jobs]


def render_objects(
    documents: Sequence[Document],
    environment: str | None,
    valid_files: Collection[str] = (),
    *,
    with_namespaces: bool = False,
) -> tuple[list[Object], tuple[Problem, ...]]:
    """Build the objects of valid jobs, and return the objects and their problems.

    Args:
        documents: the jobs.
        environment: the environment of the objects; None for the jobs without an environment.
        valid_files: the files whose objects have no problems according to the cache.
        with_namespaces: whether to set metadata.namespace of each object.

    Raises:
        UsageError: a job does not have the environment.
    """
    if environment is not None:
        for document in documents:
            check_environment(document, environment)
    jobs = [(document, build(document.data, () if environment is None else (environment,))) for document in documents]
    objects = []
    for _, built in jobs:
        items = (built.base if environment is None else built.environments[environment]).values()
        namespace = built.job.namespace_of(environment) if with_namespaces else None
        objects += [in_namespace(item, namespace) for item in items]
    unchecked = [job for job in jobs if job[0].file not in valid_files]
    return objects, in_order(find_object_problems(unchecked)) if unchecked else ()
