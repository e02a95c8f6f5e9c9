"""Write a picture as SVG."""

from xml.sax.saxutils import escape

from webhook.cli.pictures.shapes import BLACK, Box, Curve, Picture, Shape, Text


def write(picture: Picture) -> str:
    """Give the picture as a document of its own."""
    width, height = picture.width, picture.height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *map(_element, picture.shapes),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _element(shape: Shape) -> str:
    match shape:
        case Box(x, y, width, height, color):
            return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{color}"/>'
        case Curve(points, color):
            drawn = " ".join(f"{x},{y}" for x, y in points)
            return f'<polyline points="{drawn}" fill="none" stroke="{color}"/>'
        case Text(x, y, text, anchor, is_bold, color):
            more = "" if anchor == "start" else f' text-anchor="{anchor}"'
            more += ' font-weight="bold"' if is_bold else ""
            more += "" if color == BLACK else f' fill="{color}"'
            return f'<text x="{x}" y="{y}"{more}>{escape(text)}</text>'
