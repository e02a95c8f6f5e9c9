"""The admission webhooks: configurations, matching, reviews, calls and dispatch.

`configurations` reads the configured webhooks, `matching` decides which of them a request matches,
`reviews` creates AdmissionReviews and verifies the responses, `client` sends them, `jsonpatches`
applies patches, `serviceresolver` resolves Services, and `dispatcher` is the admission plugin that
calls the webhooks.
"""
