"""A webhook that admits everything: what any webhook costs an API server.

python -m tests.bench.noop_webhook PORT CERTIFICATE KEY
"""

from __future__ import annotations

import json
import sys

import uvicorn


async def application(scope, receive, send):
    """Answer an AdmissionReview: allowed."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    review = json.loads(body)
    review["response"] = {"uid": review.pop("request")["uid"], "allowed": True}
    answer = json.dumps(review).encode()
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


if __name__ == "__main__":
    uvicorn.run(
        application,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        ssl_certfile=sys.argv[2],
        ssl_keyfile=sys.argv[3],
        log_level="warning",
        lifespan="off",
    )
