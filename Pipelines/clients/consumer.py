#!/usr/bin/env python3
"""A Belfry consumer: prints the events of a stage, and continues at its position after a restart of either side.

    consumer.py ipc:///var/lib/belfry/match.link match.position
    consumer.py tcp://10.0.0.7:7412 match.position --key screen.key --server-key KEY

Each event is a line {"sequence":17,"event":{...}}. The position file has the last sequence printed; without the file
the consumer begins after --after. If it is killed before it writes the position, it later prints the events of one
batch again.
Exit status: 0 after SIGTERM, SIGINT or --limit events; 1 if the link rejects the key or answers with an error other
than `link.unknown_peer`, or if the position file belongs to another log.
The page "Wire protocol" of the manual describes the frames.
"""

import argparse
import json
import os
import signal
import sys
import time

import zmq
from zmq.utils.monitor import recv_monitor_message

CREDIT = 8 << 20  # Bytes of events that the stage may send ahead.
HEARTBEAT = 0.5  # Seconds. After this time without a frame of its own, the consumer sends `credit` or `open`.


class Consumer:
    def __init__(self, options: argparse.Namespace) -> None:
        self.link, self.path, self.left = options.link, options.position, options.limit
        self.through, self.identity = options.after, None
        if os.path.exists(self.path):
            position = json.load(open(self.path))
            self.through, self.identity = position["through"], position["identity"]
        self.is_open, self.credit_to_grant, self.last_sent = False, 0, 0.0
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.immediate, self.socket.sndtimeo, self.socket.linger = True, int(HEARTBEAT * 1000), 100
        if options.key:
            secret = open(options.key, "rb").read().strip()
            self.socket.curve_secretkey, self.socket.curve_publickey = secret, zmq.curve_public(secret)
            self.socket.curve_serverkey = options.server_key.encode()
        self.monitor = self.socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_FAILED_AUTH)
        self.socket.connect(options.link)
        self.poller = zmq.Poller()
        self.poller.register(self.socket, zmq.POLLIN)
        self.poller.register(self.monitor, zmq.POLLIN)

    def send_frame(self, frame: dict) -> None:
        self.last_sent, self.credit_to_grant = time.monotonic(), 0
        try:
            self.socket.send_json(frame)
        except zmq.Again:
            pass  # There is no connection. The next heartbeat tries again.

    def open(self) -> None:
        self.is_open = False
        self.send_frame({"type": "open", "protocol": 1, "name": "consumer.py", "after": self.through, "credit": CREDIT})

    def step(self) -> None:
        if time.monotonic() - self.last_sent >= HEARTBEAT or self.credit_to_grant >= CREDIT // 8:
            if self.is_open:
                self.send_frame({"type": "credit", "bytes": self.credit_to_grant})
            else:
                self.open()
        ready = dict(self.poller.poll(int(HEARTBEAT * 1000)))
        if self.monitor in ready:
            recv_monitor_message(self.monitor)
            sys.exit(f"the key is not listed for reading at {self.link}")
        if self.socket in ready:
            frames = self.socket.recv_multipart()
            self.receive(json.loads(frames[0]), *frames[1:])

    def receive(self, control: dict, lines: bytes = b"") -> None:
        if control["type"] == "welcome" and control["after"] == self.through:
            if self.identity not in (None, control["identity"]):
                sys.exit(f"{self.path} belongs to log {self.identity}, but {self.link} has log {control['identity']}")
            self.is_open, self.identity = True, control["identity"]
        elif control["type"] == "batch" and self.is_open:
            events = lines.split(b"\n")
            if control["first"] != self.through + 1 or events.pop() or len(events) != control["count"]:
                return self.open()
            self.print_events(events[: self.left])
            self.credit_to_grant += len(lines)
        elif control.get("code") == "link.unknown_peer":
            if self.is_open:
                self.open()
        elif control["type"] == "error":
            sys.exit(f"{control['reason']} ({control['code']})")

    def print_events(self, events: list[bytes]) -> None:
        for event in events:
            self.through += 1
            sys.stdout.buffer.write(b'{"sequence":%d,"event":%s}\n' % (self.through, event))
        sys.stdout.buffer.flush()
        self.left -= len(events)
        with open(self.path + ".new", "w") as file:
            json.dump({"identity": self.identity, "through": self.through}, file)
        os.replace(self.path + ".new", self.path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints the events of a Belfry stage.")
    parser.add_argument("link")
    parser.add_argument("position")
    parser.add_argument("--after", type=int, default=0)
    parser.add_argument("--limit", type=int, default=sys.maxsize)
    parser.add_argument("--key")
    parser.add_argument("--server-key")
    consumer = Consumer(parser.parse_args())
    stopped = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.append(True))
    while consumer.left > 0 and not stopped:
        consumer.step()
    consumer.send_frame({"type": "close"})


if __name__ == "__main__":
    main()
