"""Admission: `decide(request, snapshot)` and the policies that it runs.

`table` lists every policy, as defined by `policy`; `engine` runs the policies that match a request;
`decision` holds requests, findings and decisions. `review` decodes AdmissionReview requests within
`json_limits`, `response` encodes the responses. `webhook_configurations` generates the webhook
configurations for the table, with `match_conditions`. `finalizers` recognises updates that only
remove finalizers, `drafts` helps mutators. One concern is one module in `policies`; validation that
several policies share is in `rules`, knowledge of the domain in `webhook.domain`.
Nothing here does I/O: reads that the snapshot lacks are returned as `Needs`.
"""
