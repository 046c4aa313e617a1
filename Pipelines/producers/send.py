#!/usr/bin/env python3
"""A Belfry producer in Python: sends the lines of standard input through a door, each once, whatever happens between.

    send.py tcp://10.0.0.7:7410 shop --key shop.key --server-key KEY < orders.ndjson    a door with keys (CURVE)
    send.py ipc:///var/lib/belfry/ingest.door shop --secret shop.secret < orders.ndjson  a door without

A producer has a name and numbers its lines from 1. `hello` asks the door how many lines it has, `produce` sends more,
and `answer` says how far the door has come, once that is durable. The name belongs to the key that used it first, where
the door has keys, else to the secret in each frame. Exits as `belfry send` does: 65 after a refused line, 69 when the
door is silent, 77 when it does not let in the key, or the name is another's.
"""

import argparse
import json
import sys

import zmq
from zmq.utils.monitor import recv_monitor_message

PARCEL = 1000
PATIENCE = 10_000  # Milliseconds.


def crc32c(data: bytes) -> int:
    """CRC-32C, as the door tells it of the lines that it has."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def fail(status: int, reason: str) -> None:
    print(reason, file=sys.stderr)
    sys.exit(status)


class Door:
    def __init__(self, options: argparse.Namespace) -> None:
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.immediate = True
        self.socket.linger = 0
        self.who = {"producer": options.name}
        if options.key:
            secret = open(options.key, "rb").read().strip()
            self.socket.curve_secretkey = secret
            self.key = zmq.curve_public(secret)
            self.socket.curve_publickey = self.key
            self.socket.curve_serverkey = options.server_key.encode()
        if options.secret:
            self.who["secret"] = open(options.secret).read().strip()
        self.monitor = self.socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_FAILED_AUTH)
        self.socket.connect(options.door)
        self.poller = zmq.Poller()
        self.poller.register(self.socket, zmq.POLLIN)
        self.poller.register(self.monitor, zmq.POLLIN)

    def ask(self, frame: dict, *lines: bytes) -> dict:
        """Says something and waits for what the door says to it."""
        self.socket.sndtimeo = 0
        message = [json.dumps(frame | self.who).encode(), *lines]
        waited, isSaid = 0, False
        while waited < PATIENCE:
            try:
                if not isSaid:
                    self.socket.send_multipart(message)
                    isSaid = True
            except zmq.Again:
                pass  # There is no connection yet.
            ready = dict(self.poller.poll(100))
            if self.monitor in ready:
                recv_monitor_message(self.monitor)
                fail(77, f"the key {self.key.decode()} is not listed for producing there")
            if self.socket in ready:
                answer = json.loads(self.socket.recv_multipart()[0])
                if answer["type"] == "error":
                    status = 77 if answer["code"] in ("door.owner", "door.secret") else 69
                    fail(status, f"{answer['reason']} ({answer['code']})")
                return answer
            waited += 100
        fail(69, "the door does not answer")


def main() -> None:
    parser = argparse.ArgumentParser(description="Sends the lines of standard input through a Belfry door.")
    parser.add_argument("door")
    parser.add_argument("name")
    parser.add_argument("--key")
    parser.add_argument("--server-key")
    parser.add_argument("--secret")
    options = parser.parse_args()
    if bool(options.key) != bool(options.server_key):
        parser.error("--key and --server-key go together")
    if not options.key and not options.secret:
        parser.error("the name needs a --key or a --secret that it belongs to")
    lines = [line for line in sys.stdin.buffer.read().splitlines() if line.strip()]
    door = Door(options)
    welcome = door.ask({"type": "hello", "protocol": 1})
    done, refused = welcome["after"], 0
    sent = crc32c(b"".join(line + b"\n" for line in lines[:done]))
    if done > len(lines) or welcome.get("checksum", sent) != sent:
        fail(65, f"standard input does not begin with the {done} lines that {options.name} has sent before")
    earlier = welcome.get("refused")
    if earlier is None:
        print(f"{done} lines taken or refused in an earlier run", file=sys.stderr)
    else:
        told = f", {earlier} refused" if earlier else ""
        print(f"{done - earlier} lines taken{told} in an earlier run", file=sys.stderr)
    while done < len(lines):
        parcel = lines[done : done + PARCEL]
        answer = door.ask({"type": "produce", "first": done + 1}, b"".join(line + b"\n" for line in parcel))
        for refusal in answer["refusals"]:
            print(f"line {refusal['line']}: {refusal['reason']} ({refusal['code']})", file=sys.stderr)
        refused += answer["refused"]
        done = answer["through"]
    print(f"{done} lines sent, {refused} refused", file=sys.stderr)
    sys.exit(65 if refused or earlier else 0)


if __name__ == "__main__":
    main()
