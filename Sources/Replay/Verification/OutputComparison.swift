import JSON
import PipelineRuntime

/// Compares the events that a ``StageMachine`` made with the events of the stage's log. Both are streams of lines, and
/// a batch of one stream may end inside a batch of the other stream.
struct OutputComparison: ~Copyable {
    /// An event that differs, or that only one side has.
    struct Mismatch {
        var sequence: UInt64
        var recorded: String?
        var replayed: String?
        /// The mark of the replayed event. Without a replayed event: the mark of the last event that the machine made
        /// for this batch; nil if it made no event for this batch.
        var mark: MachineOutput.Mark?
    }

    /// Events that the machine has made, but that the log has only in a later batch. Usually empty.
    private var carried = CarriedBytes()
    private var carriedMarks: [MachineOutput.Mark] = []
    /// The sequence of the next event to compare.
    private var next: UInt64

    init(from first: UInt64) { next = first }

    /// Compares a batch of the log with the machine's output, and empties that output. Returns the first mismatch; nil
    /// if the machine made all events of the batch identically.
    mutating func compare(_ body: UnsafeRawBufferPointer, count: Int, with output: MachineOutput) -> Mismatch? {
        defer { output.removeAll() }
        if carried.isEmpty, output.lines.isSame(as: body) {
            next += UInt64(count)
            return nil
        }
        carry(output)
        guard carried.count >= body.count,
            UnsafeRawBufferPointer(rebasing: carried.bytes[..<body.count]).isSame(as: body)
        else { return mismatch(body) }
        drop(body.count, count)
        return nil
    }

    /// The first event of the machine that the compared part of the log lacks; nil if there is no such event.
    mutating func surplus() -> Mismatch? {
        var lines = Lines(carried.bytes)
        guard let line = lines.next() else { return nil }
        return Mismatch(sequence: next, recorded: nil, replayed: OutputComparison.text(line), mark: carriedMarks.first)
    }

    /// Skips a batch's events without comparing them.
    mutating func skip(_ count: Int, of output: MachineOutput) {
        defer { output.removeAll() }
        if carried.isEmpty, output.count == count {
            next += UInt64(count)
        } else {
            carry(output)
            drop(carried.bytes.byteCount(ofLines: count), count)
        }
    }

    private mutating func carry(_ output: MachineOutput) {
        let (bytes, events) = (carried.count, carriedMarks.last?.events ?? 0)
        carried.append(output.lines)
        for var mark in output.marks {
            (mark.bytes, mark.events) = (mark.bytes + bytes, mark.events + events)
            carriedMarks.append(mark)
        }
    }

    private mutating func drop(_ bytes: Int, _ events: Int) {
        next += UInt64(events)
        carried.drop(bytes)
        carriedMarks = carriedMarks.filter { $0.bytes > bytes }.map { mark in
            var mark = mark
            (mark.bytes, mark.events) = (mark.bytes - bytes, mark.events - events)
            return mark
        }
    }

    private func mismatch(_ body: UnsafeRawBufferPointer) -> Mismatch {
        var (recorded, replayed) = (Lines(body), Lines(carried.bytes))
        var (sequence, bytes) = (next, 0)
        while true {
            let (left, right) = (recorded.next(), replayed.next())
            if let left, let right, left.isSame(as: right) {
                (sequence, bytes) = (sequence + 1, bytes + right.count + 1)
                continue
            }
            return Mismatch(
                sequence: sequence, recorded: left.map(OutputComparison.text),
                replayed: right.map(OutputComparison.text),
                mark: carriedMarks.first { $0.bytes > bytes } ?? carriedMarks.last)
        }
    }

    private static func text(_ line: UnsafeRawBufferPointer) -> String { String(decoding: line, as: UTF8.self) }
}

/// A queue of bytes.
private struct CarriedBytes: ~Copyable {
    private var buffer = ByteBuffer()
    private var start = 0

    var count: Int { buffer.count - start }
    var isEmpty: Bool { count == 0 }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer.bytes[start...]) }

    mutating func append(_ bytes: UnsafeRawBufferPointer) { buffer.append(bytes) }

    /// Frees the dropped bytes only when they are more than the remaining bytes. The output for one event may fill many
    /// batches, and moving the rest after each batch would take long.
    mutating func drop(_ count: Int) {
        start += count
        guard start > self.count else { return }
        var rest = ByteBuffer(capacity: self.count)
        rest.append(bytes)
        buffer = rest
        start = 0
    }
}
