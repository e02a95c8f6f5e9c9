"""COMMANDS. Arguments in, exit codes out.

One module a command, with `add_arguments` for its flags and `run` for its work. Text for people
is printed here and nowhere else; whatever can be asked without a terminal lives in the rooms below.
"""
