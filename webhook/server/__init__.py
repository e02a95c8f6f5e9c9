"""THE DOOR. HTTP in and out: limits, deadlines, who may come in, what each fault answers.

Handlers decode, ask a pure decision, encode. What is decided, and how it is carried out, lives
in other rooms and is handed in.
"""
