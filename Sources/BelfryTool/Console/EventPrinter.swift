import JSON
import Time

/// Prints events of a log: one line for each event, in a form for people or as NDJSON.
///
/// A line of the form `envelopes`: `{"sequence":17,"now":"2026-11-20T09:30:00Z","event":{...}}`, with the event's bytes
/// from the log.
struct EventPrinter {
    enum Form { case people, envelopes, events }

    let form: Form
    private let painter: Painter
    private let write: ([UInt8]) throws(OutputError) -> Void

    init(
        _ form: Form, isColoured: Bool = false,
        write: @escaping ([UInt8]) throws(OutputError) -> Void = StandardOutput.write
    ) {
        self.form = form
        painter = Painter(isColoured: isColoured)
        self.write = write
    }

    /// The printer for standard output: coloured lines for people on a terminal, NDJSON otherwise.
    ///
    /// - Parameter eventsOnly: Whether to print only the events as they are in the log (`--bare`).
    static func standard(eventsOnly: Bool) -> EventPrinter {
        if eventsOnly { return EventPrinter(.events) }
        return StandardOutput.isTerminal ? EventPrinter(.people, isColoured: true) : EventPrinter(.envelopes)
    }

    func print(_ lines: some Sequence<UnsafeRawBufferPointer>, first: UInt64, now: Instant) throws(OutputError) {
        var buffer = ByteBuffer(capacity: 4096)
        var sequence = first
        let time = now.rfc3339
        for line in lines {
            append(line, sequence, time, to: &buffer)
            sequence += 1
        }
        try write(Array(buffer.bytes))
    }

    private func append(
        _ line: UnsafeRawBufferPointer, _ sequence: UInt64, _ time: String, to buffer: inout ByteBuffer
    ) {
        switch form {
        case .events: buffer.append(line)
        case .people: buffer.append(raw: EventSummary.text(line, sequence, time, painter))
        case .envelopes:
            buffer.object {
                $0.append("sequence", sequence)
                $0.append("now", time)
                $0.append(member: "event")
                $0.append(line)
            }
        }
        buffer.append(byte: UInt8(ascii: "\n"))
    }
}
