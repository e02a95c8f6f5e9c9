"""Call admission webhooks as a Kubernetes API server does.

`hooks` reads the configurations, `matching` decides which of them a request concerns, `reviews`
writes AdmissionReviews and judges the answers, `client` sends them, `dispatch` orders the calls,
applies patches and turns failures into what the client is told.
"""
