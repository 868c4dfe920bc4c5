"""How the manual's site is built from the pages beside this file: `make manual`."""

from pathlib import Path

from docutils import nodes
from sphinx.addnodes import download_reference, pending_xref
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

import hbtable

project = "hbtable"
release = hbtable.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "hbtable"
html_show_copyright = False
myst_heading_anchors = 4
default_role = "literal"  # what docstrings have in backticks
autodoc_member_order = "bysource"
suppress_warnings = ["misc.highlighting_failure"]  # formats.md names the bytes that it shows


class LinksIntoTheRepository(SphinxPostTransform):
    """A link to a file or folder of the repository that is no page of the site becomes the text that it stands on. One
    that leads nowhere stays, and is warned of."""

    default_priority = 5  # before links are resolved

    def run(self, **_: object) -> None:
        pages = Path(self.app.srcdir)
        for link in list(self.document.findall(nodes.Element)):
            if isinstance(link, (pending_xref, download_reference)) and link.get("refdoc"):
                beside = Path(pages, str(link["refdoc"])).parent
                target = Path(beside, str(link["reftarget"])).resolve()
                if any(self._is_elsewhere(Path(f"{target}{suffix}"), pages) for suffix in ("", ".md")):
                    link.replace_self(link.children)

    def _is_elsewhere(self, path: Path, pages: Path) -> bool:
        return path.is_dir() or (path.is_file() and not (path.is_relative_to(pages) and path.suffix == ".md"))


def setup(app: Sphinx) -> None:
    app.add_post_transform(LinksIntoTheRepository)
