"""MkDocs hook that builds the documentation site from the Markdown files at the root, in docs/ and in examples/.

A page has the same path as its file in the repository, so that each relative link works on a git host and in the
site. https://www.mkdocs.org/user-guide/configuration/#hooks
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PAGES = ("*.md", "docs/*.md", "examples/*/README.md")
FENCE = re.compile(r"^( *`{3,}\w+) [^\n`]+$", re.MULTILINE)
"""The first line of a code block with words after the language, such as ``console training``, or a file name."""
STYLE = Path(__file__).with_suffix(".css")
LINK = re.compile(r"\[([^\]]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
"""A link to a path in the repository: the text, the path and the anchor."""


def on_config(config: MkDocsConfig) -> None:
    """Replace the entry EXAMPLES of the navigation by the pages of all examples."""
    pages = [{path.parent.name: str(path.relative_to(ROOT))} for path in sorted(ROOT.glob("examples/*/README.md"))]
    config.nav = [{"Examples": pages} if entry == {"Examples": "EXAMPLES"} else entry for entry in config.nav or ()]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files of the theme, the style sheet, the pages, and the files to which the pages link."""
    pages = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    for file in [file for file in files if file.src_dir == config.docs_dir]:
        files.remove(file)
    for path in sorted({*pages, *linked_files(pages)}):
        files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    files.append(File.generated(config, STYLE.name, abs_src_path=str(STYLE)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Return the text of a page with links to README.md instead of folders, and without the words after a language.

    A link to a folder without a README.md becomes plain text, because the site has no page for the folder. Superfences
    does not recognize a block with words after the language.
    """
    folder = Path(page.file.abs_src_path or "").parent

    def replaced(link: re.Match[str]) -> str:
        text, path, anchor = link.group(1), link.group(2), link.group(3) or ""
        if not (folder / path).is_dir():
            return link.group()
        if (folder / path / "README.md").exists():
            return f"[{text}]({path.rstrip('/')}/README.md{anchor})"
        return text

    return FENCE.sub(r"\1", LINK.sub(replaced, markdown))


def linked_files(pages: Iterable[Path]) -> set[Path]:
    """Return the files, other than pages, to which pages link."""
    links = {page: LINK.findall(page.read_text(encoding="utf-8")) for page in pages}
    targets = {(page.parent / path).resolve() for page in pages for _, path, _ in links[page]}
    return {target for target in targets if target.is_file()}
