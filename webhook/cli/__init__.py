"""COMMANDS. Arguments in, exit codes out.

Each command is a module with `add_arguments` for its flags and `run` for its work, and a row in
`main` or `plugin`. Only this package prints to the terminal; everything else that a command needs
is in the packages below.
"""
