"""LaTeX, read strictly as text, and set by pdfLaTeX where there is one."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

_PREAMBLE = r"""\documentclass[twocolumn]{article}
\usepackage[T1]{fontenc}
\usepackage{booktabs}
\usepackage{array}
\usepackage{graphicx}
\usepackage{siunitx}
\begin{document}
%s
\end{document}
"""
# What the writer itself uses; any other command would come from a name.
_COMMANDS = {
    *("begin", "end", "centering", "caption", "label", "toprule", "midrule", "bottomrule", "par", "smallskip"),
    *("footnotesize", "linewidth", "raggedright", "arraybackslash", "allowbreak", "textsuperscript", "usepackage"),
    *("textbackslash", "textasciitilde", "textasciicircum", "textasciigrave", "textless", "textgreater", "textbar"),
    *("symbol", "ldots", "times", "parbox", "setlength", "tabcolsep", "resizebox", "ifdim", "width", "else", "fi"),
}


def check_latex(written: str) -> list[list[str]]:
    """Return the cells of each row. Fails where environments or braces do not match, or a special is not escaped."""
    body = "\n".join(line.removesuffix("%") for line in written.splitlines() if not line.startswith("% "))
    stack: list[str] = []
    for word, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", body):
        if word == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    assert set(re.findall(r"\\([A-Za-z]+)", body)) <= _COMMANDS
    bare = re.sub(r"\\\\|\\[A-Za-z]+|\\[{}&%$#_]", "", body)
    assert not re.search(r"[#_%^~\"\\|`]", bare.replace("``", "")), "a special that is not escaped"
    assert bare.replace("$-$", "").replace("$$", "").count("$") == 0
    depth = 0
    for sign in bare:
        depth += (sign == "{") - (sign == "}")
        assert depth >= 0
    assert depth == 0
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)&", line.strip().removesuffix(r"\\"))]
        for line in body.splitlines()
        if line.endswith(r"\\")
    ]
    assert len({len(row) for row in rows}) == 1, "as many cells in each row"
    return rows


def set_latex(written: str, folder: Path) -> str:
    """Set the tables as a document and return the log of pdfLaTeX; fails where it reports an error."""
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("pdflatex is not on this machine; the tables are checked as text.")
    (folder / "tables.tex").write_text(_PREAMBLE % written, encoding="utf-8")
    done = subprocess.run(
        [program, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "tables.tex"],
        cwd=folder, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    log = done.stdout.decode(errors="replace")
    assert done.returncode == 0, log[-2000:]
    return log


def read_caption(written: str) -> str:
    """Return the caption, which is one sentence."""
    (caption,) = re.findall(r"\\caption\{(.*)\}$", written, re.MULTILINE)
    assert len(re.findall(r"[.!?](?= [A-Z]|$)", caption)) == 1, caption
    return str(caption)
