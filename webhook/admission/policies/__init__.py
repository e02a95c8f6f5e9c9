"""One concern a module; policies never import each other, what two of them need is in `rules`."""
