"""QR codes as paths of SVG, which pages draw without styles of their own."""

QUIET = 4
"""The margin around a code, in modules: scanners need it."""


def draw_path(text: str) -> tuple[int, str]:
    """Return the width of the picture in modules, margin included, and the path of the dark ones."""
    from qrcode.main import QRCode

    code = QRCode(border=QUIET)
    code.add_data(text)
    rows = code.get_matrix()
    dark = [f"M{x} {y}h1v1h-1z" for y, row in enumerate(rows) for x, is_dark in enumerate(row) if is_dark]
    return len(rows), "".join(dark)
