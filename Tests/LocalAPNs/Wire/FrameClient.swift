/// A client that writes single HTTP/2 frames, to do what a correct client would not do.
enum FrameClient {
    /// The program's arguments are the port, the file with the authority's certificate, and header lines `name=value`.
    /// Its standard input has one step on each line:
    ///
    /// - `open STREAM [NAME=VALUE]` sends the headers. The header NAME is added, or replaces the header of this name.
    /// - `part STREAM TEXT` sends a part of a body, and `body STREAM TEXT` the last part, which ends the stream.
    /// - `ping` sends PING, and `ack` acknowledges SETTINGS.
    /// - `wait PREFIX` prints the frames that arrive, until a printed line begins with the prefix.
    ///
    /// At the end of the connection, the program prints `closed`, or `cut` if TLS was not closed. If nothing arrives
    /// for 10 seconds, it prints `timeout` and ends.
    static let program = #"""
        import socket, ssl, struct, sys

        port, ca, head = int(sys.argv[1]), sys.argv[2], sys.argv[3].split("\n")
        context = ssl.create_default_context(cafile=ca)
        context.set_alpn_protocols(["h2"])
        plain = socket.create_connection(("127.0.0.1", port), 10)
        link = context.wrap_socket(plain, server_hostname="127.0.0.1", suppress_ragged_eofs=False)
        link.settimeout(10)
        names = {1: "table", 3: "streams", 4: "window", 5: "frame", 6: "headers"}
        unread = b""

        def frame(kind, flags, stream, payload=b""):
            link.sendall(struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload)

        def block(lines):
            def text(value):
                value = value.encode()
                more = len(value) - 127
                return (bytes([len(value)]) if more < 0 else bytes([127, more % 128 + 128, more // 128])) + value
            return b"".join(b"\x00" + text(name) + text(value) for name, value in lines)

        def headers(change):
            lines = [line.split("=", 1) for line in head]
            if change:
                name, value = change.split("=", 1)
                if name in [line[0] for line in lines]:
                    lines = [[name, value] if line[0] == name else line for line in lines]
                else:
                    lines.append([name, value])
            return block(lines)

        def receive(size):
            global unread
            while len(unread) < size:
                more = link.recv(65536)
                if not more:
                    return None
                unread += more
            taken, unread = unread[:size], unread[size:]
            return taken

        def next_line():
            start = receive(9)
            if start is None:
                return "closed"
            kind, flags, stream = start[3], start[4], struct.unpack(">I", start[5:])[0]
            payload = receive(struct.unpack(">I", b"\0" + start[:3])[0])
            if kind == 0:
                return f"data {stream} {payload.decode()}"
            if kind == 1:
                return f"headers {stream}" + (" end" if flags & 1 else "")
            if kind == 3:
                return f"reset {stream} {struct.unpack('>I', payload)[0]}"
            if kind == 4:
                pairs = [struct.unpack(">HI", payload[i:i + 6]) for i in range(0, len(payload), 6)]
                return "settings " + ("ack" if flags & 1 else " ".join(f"{names[k]}={v}" for k, v in pairs))
            if kind == 6:
                return "ping ack" if flags & 1 else "ping"
            if kind == 7:
                last, code = struct.unpack(">II", payload[:8])
                return f"goaway {last} {code} {payload[8:].decode()}".rstrip()
            return f"frame {kind}"

        link.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        frame(4, 0, 0)
        try:
            for step in sys.stdin.read().splitlines():
                verb, _, rest = step.partition(" ")
                number, _, text = rest.partition(" ")
                if verb == "open":
                    frame(1, 4, int(number), headers(text))
                elif verb == "body":
                    frame(0, 1, int(number), text.encode())
                elif verb == "part":
                    frame(0, 0, int(number), text.encode())
                elif verb == "ping":
                    frame(6, 0, 0, b"12345678")
                elif verb == "ack":
                    frame(4, 1, 0)
                elif verb == "wait":
                    line = ""
                    while not line.startswith(rest) and line != "closed":
                        line = next_line()
                        print(line, flush=True)
        except (ConnectionResetError, ssl.SSLEOFError, BrokenPipeError):
            print("cut", flush=True)
        except socket.timeout:
            print("timeout", flush=True)
        """#
}
