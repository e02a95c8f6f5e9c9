"""THE HTTP SERVER: routes, limits, deadlines, authentication, error responses.

Handlers decode a request, call a pure decision and encode its result. Decisions and their
execution are in other rooms and are passed in.
"""
