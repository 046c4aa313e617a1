import Glibc
import JSON
import PipelineRuntime

/// Compares what a machine gives with what a log holds, line by line of the two streams, whichever is cut how.
struct OutputComparison: ~Copyable {
    /// An event that is different, missing on one side, or too many.
    struct Mismatch {
        var sequence: UInt64
        var recorded: String?
        var replayed: String?
        /// The mark of the replayed event; of the last input where there is none.
        var mark: MachineOutput.Mark?
    }

    /// What the machine gave before the log holds it: rarely anything.
    private var carried = CarriedBytes()
    private var carriedMarks: [MachineOutput.Mark] = []
    /// The next event to be compared.
    private(set) var next: UInt64

    init(from first: UInt64) { next = first }

    /// Compares a batch of the log with what the machine has given so far, and empties the machine's output.
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

    /// What is left over when the log ends.
    mutating func surplus() -> Mismatch? {
        var lines = Lines(carried.bytes)
        guard let line = lines.next() else { return nil }
        return Mismatch(sequence: next, recorded: nil, replayed: OutputComparison.text(line), mark: carriedMarks.first)
    }

    /// Passes over a batch's events without comparing them.
    mutating func skip(_ count: Int, of output: MachineOutput) {
        defer { output.removeAll() }
        if carried.isEmpty, output.count == count {
            next += UInt64(count)
        } else {
            carry(output)
            drop(carried.bytes.count(ofLines: count), count)
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

/// Bytes that are added at the end and taken from the beginning.
private struct CarriedBytes: ~Copyable {
    private var buffer = ByteBuffer()
    private var start = 0

    var count: Int { buffer.count - start }
    var isEmpty: Bool { count == 0 }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer.bytes[start...]) }

    mutating func append(_ bytes: UnsafeRawBufferPointer) { buffer.append(bytes) }

    /// One event's outputs may fill very many batches: what is left is moved only when it is less than what is gone.
    mutating func drop(_ count: Int) {
        start += count
        guard start > self.count else { return }
        var rest = ByteBuffer(capacity: self.count)
        rest.append(bytes)
        buffer = rest
        start = 0
    }
}

extension UnsafeRawBufferPointer {
    func isSame(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let left = baseAddress, let right = other.baseAddress, count > 0 else { return true }
        return memcmp(left, right, count) == 0
    }
}
