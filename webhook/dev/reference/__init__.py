"""THE REFERENCE PAGES. Generates `docs/reference` from the tables and settings of the program.

One module a page: `settings`, `policies`, `kinds`, `metrics`, `event_reasons` and `alerts`. Each
is a plain function from the tables to the text of its page. `pages` lists them.
"""
