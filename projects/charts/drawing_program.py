"""The program that draws: it reads specifications from a socket and answers with drawings.

It runs as a child process, because the drawing library is native code that ends its process when it fails. It also ends
when a drawing takes too long.
"""

import json
import signal
import socket
import struct
from typing import Any

from projects.processes.framing import receive

VERSION = "6.4"
HEAD = struct.Struct("!?I")
"""Before each answer: whether it is a drawing, and the length of the drawing or of the error."""
REQUEST = struct.Struct("!I")


def main(parent: socket.socket) -> None:
    """Draw until the parent is gone."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, even within native code
    while head := receive(parent, REQUEST.size):
        request = json.loads(receive(parent, REQUEST.unpack(head)[0]))
        signal.alarm(request["seconds"])
        try:
            answer, is_drawn = draw(request["spec"], request["form"]), True
        except Exception as error:  # noqa: BLE001 - the library names no exceptions; the parent reports it
            answer, is_drawn = str(error).encode("utf-8", "backslashreplace"), False
        signal.alarm(0)
        parent.sendall(HEAD.pack(is_drawn, len(answer)) + answer)


def draw(spec: dict[str, Any] | str, form: str) -> bytes:
    """Return the drawing of a specification, or a drawing in SVG as another form."""
    import vl_convert  # only here: the parent imports this module too

    svg = spec if isinstance(spec, str) else vl_convert.vegalite_to_svg(spec, vl_version=VERSION)
    if form == "svg":
        return svg.encode()
    return vl_convert.svg_to_png(svg, scale=3) if form == "png" else vl_convert.svg_to_pdf(svg)
