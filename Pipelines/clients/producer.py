#!/usr/bin/env python3
"""A Belfry producer: sends the lines of a file or of standard input through a door, each once.

    producer.py ipc:///var/lib/belfry/ingest.door orders orders.ndjson --secret orders.secret
    producer.py tcp://10.0.0.7:7410 orders --key orders.key --server-key KEY < orders.ndjson

It reads the whole input, waits for the door without a time limit, and continues after the last line that the door has.
Exit status: 0 all lines were accepted; 65 a line was rejected, or the input does not begin with the lines that were
sent before; 69 another error; 77 the door rejects the key or the secret, or the name belongs to another producer.
The page "Wire protocol" of the manual describes the frames.
"""

import argparse
import functools
import itertools
import json
import sys
from typing import NoReturn

import zmq
from zmq.utils.monitor import recv_monitor_message

SILENCE = 500  # Milliseconds without a frame, after which the producer asks the door again.
LINES_PER_MESSAGE = 50
MESSAGE_MAX = 60_000_000  # Bytes. Less than the limit of a frame.
# The most bytes of a `records.modify`; the door refuses any other line of more than 1,000,000 bytes. Of a line that is
# longer than LINE_MAX, only the first LINE_MAX + 1 bytes are sent, which are enough for the door to refuse the line.
LINE_MAX = 4_000_000
CRC = [functools.reduce(lambda crc, _: crc >> 1 ^ (0x82F63B78 if crc & 1 else 0), range(8), n) for n in range(256)]


def crc32c(lines: list[bytes]) -> int:
    crc = 0xFFFFFFFF
    for byte in b"".join(line + b"\n" for line in lines):
        crc = crc >> 8 ^ CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def stop(text: str, status: int) -> NoReturn:
    report(text)
    sys.exit(status)


class Door:
    def __init__(self, options: argparse.Namespace) -> None:
        self.identity = {"producer": options.name}
        self.address, self.silences = options.door, 0
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.immediate, self.socket.sndtimeo, self.socket.linger = True, SILENCE, 0
        if options.key:
            secret = open(options.key, "rb").read().strip()
            self.key = zmq.curve_public(secret)
            self.socket.curve_secretkey, self.socket.curve_publickey = secret, self.key
            self.socket.curve_serverkey = options.server_key.encode()
        if options.secret:
            self.identity["secret"] = open(options.secret).read().strip()
        self.monitor = self.socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_FAILED_AUTH)
        self.socket.connect(options.door)
        self.poller = zmq.Poller()
        self.poller.register(self.socket, zmq.POLLIN)
        self.poller.register(self.monitor, zmq.POLLIN)

    def send_frame(self, frame: dict, *lines: bytes) -> None:
        try:
            self.socket.send_multipart([json.dumps(frame | self.identity).encode(), *lines])
        except zmq.Again:
            pass  # There is no connection. After SILENCE without a frame, `send` sends `hello` again.

    def next_frame(self) -> dict | None:
        """The next frame; None if no frame comes within SILENCE."""
        ready = dict(self.poller.poll(SILENCE))
        if self.monitor in ready:
            recv_monitor_message(self.monitor)
            stop(f"the key {self.key.decode()} is not listed for producing at {self.address}", 77)
        self.silences = 0 if self.socket in ready else self.silences + 1
        if self.silences == 20:
            report(f"no answer from {self.address}; still trying")
        return json.loads(self.socket.recv_multipart()[0]) if self.socket in ready else None


def check(welcome: dict, lines: list[bytes]) -> None:
    """Ends the program unless the input begins with the lines that the door has."""
    done = welcome["after"]
    sent = crc32c(lines[:done])
    if done > len(lines) or welcome.get("checksum", sent) != sent:
        stop(f"the input does not begin with the {done} lines that were sent before under this name", 65)
    if done:
        refused = welcome.get("refused", "an unknown number")
        report(f"{done} lines were sent in an earlier run, {refused} of them refused")


def message(lines: list[bytes]) -> bytes:
    """As many of the lines, from the first on, as fit into a message."""
    ends = itertools.accumulate(len(line) + 1 for line in lines)
    return b"".join(line + b"\n" for line, end in zip(lines, ends) if end <= MESSAGE_MAX)


def send(door: Door, lines: list[bytes]) -> int:
    """Sends the lines that the door does not have. Returns how many of all lines are refused."""
    done, refused, sent = None, 0, None
    door.send_frame({"type": "hello", "protocol": 1})
    while done is None or done < len(lines):
        frame = door.next_frame()
        if frame is None or frame.get("code") == "door.gap":
            sent = None
            door.send_frame({"type": "hello", "protocol": 1})
            continue
        if frame["type"] == "error":
            status = 77 if frame["code"] in ("door.owner", "door.secret") else 69
            stop(f"{frame['reason']} ({frame['code']})", status)
        elif frame["type"] == "welcome":
            if done is None:
                check(frame, lines)
            elif frame.get("refused", 0) > refused:
                report(f"{frame['refused'] - refused} more lines were refused; the answer with the reasons was lost")
            done, refused = frame["after"], frame.get("refused", refused)
        elif frame["type"] == "answer":
            for each in frame["refusals"]:
                place = f"{each['path']}: " if each["path"] else ""
                report(f"line {each['line']}: {place}{each['reason']} ({each['code']})")
            done, refused = frame["through"], refused + frame["refused"]
        if done < len(lines) and sent != done:
            # Even if the door repeats a frame, the lines after `done` are sent only once. After a silence or a gap,
            # they are sent again.
            sent = done
            door.send_frame({"type": "produce", "first": done + 1}, message(lines[done : done + LINES_PER_MESSAGE]))
    return refused


def main() -> None:
    parser = argparse.ArgumentParser(description="Sends lines through a Belfry door.")
    parser.add_argument("door")
    parser.add_argument("name")
    parser.add_argument("input", nargs="?", type=argparse.FileType("rb"), default=sys.stdin.buffer)
    parser.add_argument("--key")
    parser.add_argument("--server-key")
    parser.add_argument("--secret")
    options = parser.parse_args()
    if bool(options.key) != bool(options.server_key) or not (options.key or options.secret):
        parser.error("give --secret, or --key and --server-key")
    lines = options.input.read().split(b"\n")
    if not lines[-1]:
        lines.pop()
    refused = send(Door(options), [line[: LINE_MAX + 1] for line in lines])
    sent = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    stop(f"{sent} sent, {refused} refused", 65 if refused else 0)


if __name__ == "__main__":
    main()
