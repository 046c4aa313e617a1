#!/usr/bin/env python3
"""A part of a sign-in service: prints an assertion, which says who a user is.

    sign_in.py accounts.pem KEY_ID iCloud.com.example.Notes _alice

A service makes an assertion after it has checked the user's password or passkey. The gateway exchanges the assertion
once, within 60 seconds, for a web authentication token. `belfry key create sign-in` prints the key's ID.
The page "Who may use the web services" of the manual describes the exchange.
"""

import base64
import json
import subprocess
import sys
import time
import uuid

LIFE = 60  # Seconds; the gateway refuses more than five minutes.


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def raw(der: bytes) -> bytes:
    """The numbers r and s with 32 bytes each (RFC 7518, section 3.4), from a DER sequence of two integers."""
    r_end = 4 + der[3]
    numbers = der[4:r_end], der[r_end + 2 :]
    return b"".join(number.lstrip(b"\0").rjust(32, b"\0") for number in numbers)


def assertion(key_file: str, key_id: str, container: str, user: str) -> str:
    head = {"alg": "ES256", "typ": "JWT"}
    claims = {"iss": key_id, "sub": user, "aud": container, "exp": int(time.time()) + LIFE, "jti": str(uuid.uuid4())}
    signed = ".".join(base64url(json.dumps(part).encode()) for part in (head, claims))
    command = ["openssl", "dgst", "-sha256", "-sign", key_file]
    der = subprocess.run(command, input=signed.encode(), stdout=subprocess.PIPE, check=True).stdout
    return f"{signed}.{base64url(raw(der))}"


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    print(assertion(*sys.argv[1:]))
