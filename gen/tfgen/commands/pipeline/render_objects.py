"""The objects of jobs, for who prints or applies them: no module that writes files is loaded for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tfgen.check.jobs import check_all
from tfgen.commands.pipeline.cached_files import KnownFile, cached_file, recall_files, recall_jobs
from tfgen.graph.built import Built, build
from tfgen.job.facts import check_environment
from tfgen.job.sources import Source
from tfgen.kubernetes.object import Object
from tfgen.kubernetes.scope import in_namespace
from tfgen.problems import Problem, has_errors, in_order
from tfgen.text.document import Document


def render_sources(sources: Sequence[Source], environment: str | None) -> tuple[list[Object], tuple[Problem, ...]]:
    """The objects of the jobs in some files, and what is wrong with the jobs and these objects; none where errors are.

    What is known of a file is not checked again.

    Args:
        sources: the files.
        environment: whose objects; None for those of the jobs themselves.

    Raises:
        UsageError: a job has no such environment.
    """
    known = recall_files(sources)
    cached = {source.file: cached_file(source, known[source.file]) for source in sources if source.file in known}
    checked = check_all(sources, cached)
    if has_errors(checked.problems):
        return [], checked.problems
    documents = [
        document
        for file in checked.files
        for document in (
            _known_documents(file.source, known[file.source.file])
            if file.source.file in known
            else checked.read[file.source.file].documents
        )
    ]
    # Of which nothing was wrong with the objects of any environment.
    whole = {name for name, file in known.items() if not file.of_objects}
    objects, of_objects = render_objects(documents, environment, whole, with_namespaces=True)
    return objects, in_order((*checked.problems, *of_objects))


def _known_documents(source: Source, file: KnownFile) -> Sequence[Document]:
    """The jobs of a file, which is read again only where a problem says a place in it."""
    jobs = None if file.of_objects else recall_jobs(source)
    if jobs is None:
        from tfgen.job.documents import read_documents  # 20 ms, which most files that are known need not pay

        return read_documents(source)
    return [Document.without_places(source.file, data) for data in jobs]


def render_objects(
    documents: Sequence[Document],
    environment: str | None,
    whole: Collection[str] = (),
    *,
    with_namespaces: bool = False,
) -> tuple[list[Object], tuple[Problem, ...]]:
    """Return the objects of the jobs in documents without errors, and the problems of these objects.

    Args:
        documents: the jobs.
        environment: whose objects; None for those of the jobs themselves.
        whole: the files whose objects are known to have nothing wrong.
        with_namespaces: whether each object names the namespace of its job or environment.

    Raises:
        UsageError: a job has no such environment.
    """
    if environment is not None:
        for document in documents:
            check_environment(document, environment)
    jobs = [(document, build(document.data, () if environment is None else (environment,))) for document in documents]
    objects = [item for _, built in jobs for item in _objects(built, environment, with_namespaces=with_namespaces)]
    unchecked = [job for job in jobs if job[0].file not in whole]
    if not unchecked:
        return objects, ()
    from tfgen.commands.pipeline.object_problems import find_object_problems  # 40 ms, which cached files save

    return objects, in_order(find_object_problems(unchecked))


def _objects(built: Built, environment: str | None, *, with_namespaces: bool) -> Iterator[Object]:
    objects = built.base if environment is None else built.environments[environment]
    namespace = built.job.namespace_of(environment)
    for item in objects.values():
        yield in_namespace(item, namespace) if with_namespaces else item
