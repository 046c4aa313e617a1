/// The program of a plugin that misbehaves.
enum BadPlugin {
    /// The second argument is the file of the program's notes. The first argument says what the program does:
    ///
    /// - `honest`: passes every event on.
    /// - `dies`: its first four processes die, each at its third batch: the first and third before the answer, the
    ///   second and fourth after it. Notes each death.
    /// - `poison`: dies whenever it gets the record n15. Notes each death.
    /// - `wrong`: answers the record n15 with a wrong `through`, and dies at the host's error. Notes each death.
    /// - `troubled`: dies three times when it gets the record n15, with the exit status of a temporary failure. Notes
    ///   each death.
    /// - `garbage`: sends meaningless frames and lines before and in each answer. Ignores SIGTERM and SIGINT. Notes
    ///   the codes of the errors that it gets.
    /// - `spoils`: appends a word to each event of the batch that has the record n15.
    /// - `polite`: ignores `close`, ends at SIGTERM, and notes the signal.
    /// - `deaf`: ignores SIGTERM, SIGINT, `close` and the end of its standard input.
    static let program = """
        import json, os, signal, sys, zmq

        mode, notes = sys.argv[1], sys.argv[2]
        print('{"note":"printed by the program, so not a push"}', flush=True)
        link = zmq.Context.instance().socket(zmq.DEALER)
        link.setsockopt(zmq.LINGER, 1000)
        link.connect(os.environ["BELFRY_LINK"])

        def note(text):
            with open(notes, "a") as file:
                file.write(text + "\\n")

        def deaths():
            return len(open(notes).readlines()) if os.path.exists(notes) else 0

        def die(status=3):
            note("died")
            link.close()
            zmq.Context.instance().term()
            os._exit(status)

        def talk_nonsense(through):
            good = {"type": "outputs", "through": through}
            for frame in [b"", b"hello?", b"{\\"type\\":\\"outp", b"[" * 10000, b"\\x00\\xff", b"[]", b"{}", b"{\\"type\\":7}"]:
                link.send(frame)
            link.send_json({"type": "launch"})
            link.send_json({"type": "outputs"})
            for wrong in [through + 1, through - 1, 0, -1, 2**63 - 1, "1", None, 1.5]:
                link.send_multipart([json.dumps({**good, "through": wrong}).encode(), b"{}\\n"])
            link.send_multipart([b"{\\"type\\":\\"outputs\\"}"] * 300)
            link.send(b"{\\"type\\":\\"" + b"x" * (10 << 20) + b"\\"}")

        GARBAGE = b"not JSON\\n[1,2]\\n{\\"a\\":\\"\\x00\\"}\\n{\\"type\\":\\"x\\",\\"y\\":\\"" + b"z" * (3 << 20) + b"\\"}\\n"

        def leave(*_):
            note("SIGTERM")
            os._exit(0)

        if mode == "polite":
            signal.signal(signal.SIGTERM, leave)
        if mode in ("deaf", "garbage"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        link.send_json({"type": "open", "protocol": 1, "name": "bad"})
        batches = 0
        while True:
            frames = link.recv_multipart()
            control = json.loads(frames[0])
            if control["type"] == "error" and mode == "garbage":
                note(control["code"])
            if control["type"] == "error" and mode == "wrong":
                die()
            if control["type"] == "close" and mode not in ("deaf", "polite"):
                sys.exit(0)
            if control["type"] != "batch":
                continue
            batches += 1
            through = control["first"] + control["count"] - 1
            answer = json.dumps({"type": "outputs", "through": through}).encode()
            if mode == "dies" and batches == 3 and deaths() < 4 and deaths() % 2 == 0:
                die()
            if mode == "poison" and b'"n15"' in frames[1]:
                die()
            if mode == "troubled" and b'"n15"' in frames[1] and deaths() < 3:
                die(75)
            if mode == "wrong" and b'"n15"' in frames[1]:
                link.send_json({"type": "outputs", "through": through + 1})
                continue
            if mode == "garbage":
                talk_nonsense(through)
                frames[1] += GARBAGE
            if mode == "spoils" and b'"n15"' in frames[1]:
                frames[1] = frames[1].replace(b"\\n", b"oops\\n")
            link.send_multipart([answer, frames[1]])
            if mode == "dies" and batches == 3 and deaths() < 4:
                die()
        """
}
