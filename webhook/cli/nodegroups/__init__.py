"""NODE GROUPS on the command line: `command` lists them, `config` prints how to use them.

`listing` reads the objects from the API server and computes the groups as the server does.
"""
