"""CEL expressions: the matchConditions of webhooks and the validation rules of schemas.

`compiler` compiles an expression: it parses with celpy, and `checker` rejects what the type checker
of Kubernetes rejects. `functions` gives operators and functions the semantics of Kubernetes.
`matchconditions` and `validationrules` evaluate the two kinds of expressions. Of Kubernetes' CEL
libraries only those for strings and lists exist; the others and optional syntax are rejected.
"""
