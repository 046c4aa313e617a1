#!/usr/bin/env python3
"""A Belfry stage in Python. Between match and coalesce, it drops the matches of some record types.

Belfry starts this program (see `command:` in python-filter.yaml) and writes the stage's log. The program connects to
the endpoint in BELFRY_LINK, sends `open`, and answers every `batch` with `outputs`: the events to pass on, as JSON
lines.
After a crash Belfry sends the unanswered batches again, so the program needs no state.
"""

import json
import os
import signal
import sys

import zmq


def keep(event: dict) -> bool:
    """Whether to pass an event on. Events that are not matches, such as `device.register`, always pass."""
    if event.get("type") != "match":
        return True
    return event.get("recordType") not in QUIET_TYPES


QUIET_TYPES = sys.argv[1:] or ["Draft"]


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # after Ctrl-C, Belfry waits for the last answers and sends `close`
    link = zmq.Context.instance().socket(zmq.DEALER)
    link.setsockopt(zmq.LINGER, 200)
    link.connect(os.environ["BELFRY_LINK"])
    poller = zmq.Poller()
    poller.register(link, zmq.POLLIN)
    poller.register(sys.stdin.fileno(), zmq.POLLIN)  # standard input closes when Belfry ends, even if it is killed
    link.send_json({"type": "open", "protocol": 1, "name": os.environ.get("BELFRY_STAGE", "filter")})
    while True:
        ready = dict(poller.poll())
        if sys.stdin.fileno() in ready and not os.read(sys.stdin.fileno(), 4096):
            return
        if link not in ready:
            continue
        frames = link.recv_multipart()
        control = json.loads(frames[0])
        if control["type"] == "batch":
            lines = [line for line in frames[1].splitlines(keepends=True) if keep(json.loads(line))]
            through = control["first"] + control["count"] - 1
            answer = {"type": "outputs", "through": through, "count": len(lines)}
            link.send_multipart([json.dumps(answer).encode(), b"".join(lines)])
        elif control["type"] == "error":
            sys.exit(f"{control['code']}: {control['reason']}")
        elif control["type"] == "close":
            return


if __name__ == "__main__":
    main()
