"""The page of policies: what each checks, when, and what happens when no webhook answers."""

from typing import Final

from webhook.admission.policy import Policy
from webhook.admission.table import POLICIES
from webhook.api.kinds import kind_of_model
from webhook.dev.reference import markdown

_INTRODUCTION: Final = """# Policies

The admission webhook runs these policies in this order. `mode` is the default of
`admission.modes`: `deny` refuses, `warn` allows with a warning, `off` does not run. *Failure
policy* is the `failurePolicy` of the policy's webhook, which applies while Espalier does not
respond. Beside a Gardener it is `Ignore`, unless `admission.failure` or `admission.failures` sets
another. [settings.md](settings.md) has the settings.

"""


def page() -> str:
    """Write the page."""
    rows = [_row(policy) for policy in POLICIES]
    headings = ("policy", "kinds", "requests", "does", "mode", "failure policy",
                "beside a Gardener")  # fmt: skip
    text = _INTRODUCTION + markdown.table(headings, rows)
    text += "\n## What each is for\n\n"
    for policy in POLICIES:
        text += f"- `{policy.name}`: {_purpose(policy)} *{policy.failure}* because {policy.why}.\n"
    return text


def _row(policy: Policy) -> tuple[str, ...]:
    return (
        markdown.code(policy.name),
        ", ".join(kind_of_model(model).name for model in policy.models),
        _requests(policy),
        " and ".join(
            verb
            for verb, function in (("mutates", policy.mutate), ("validates", policy.validate))
            if function is not None
        ),
        markdown.code(policy.mode),
        markdown.code(policy.failure),
        "yes" if policy.beside_gardener else "no",
    )


def _requests(policy: Policy) -> str:
    text = ", ".join(policy.operations)
    named = [each for each in policy.subresources if each]
    if named and "" in policy.subresources:
        text += f", also of {markdown.codes(named)}"
    elif named:
        text += f" of {markdown.codes(named)}"
    if policy.namespace_label:
        text += f"; namespaces labelled {markdown.code(policy.namespace_label)}"
    return text


def _purpose(policy: Policy) -> str:
    """Return the first line of the policy's module, without the name that it begins with."""
    function = policy.validate or policy.mutate
    module = __import__(function.__module__, fromlist=["__doc__"]) if function else None
    first = ((module.__doc__ if module else None) or "").splitlines()[0]
    head, colon, rest = first.partition(": ")
    return f"{rest}" if colon and policy.name in head else first
