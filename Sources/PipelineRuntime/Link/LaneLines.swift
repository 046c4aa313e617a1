import PipelineKit

/// Leaves out the lines of other lanes from the batches of a log.
struct LaneLines {
    /// The lanes of a batch's lines; -1 for a line that every lane takes.
    private struct Lanes {
        var first: UInt64
        var bytes: Int
        /// The number of all lanes.
        var count: Int
        var ofLines: [Int16]
    }

    private var readers: [Int: LaneReader] = [:]
    /// Of the last batches, because the lanes read the same batches one after another.
    private var known: [Lanes] = []

    private static let knownMax = 64

    /// The lines, with an empty line in place of each line of another lane.
    ///
    /// - Parameter first: The sequence of the first line.
    mutating func lines(_ lines: UnsafeRawBufferPointer, first: UInt64, of lane: Lane) -> [UInt8] {
        let lanes = lanes(lines, first: first, lane.count)
        var own: [UInt8] = []
        own.reserveCapacity(lines.count / lane.count + lanes.count)
        for (line, number) in zip(Lines(lines), lanes) {
            if number < 0 || number == lane.number { own.append(contentsOf: line) }
            own.append(UInt8(ascii: "\n"))
        }
        return own
    }

    private mutating func lanes(_ lines: UnsafeRawBufferPointer, first: UInt64, _ count: Int) -> [Int16] {
        let found = known.last { ($0.first, $0.bytes, $0.count) == (first, lines.count, count) }
        if let found { return found.ofLines }
        let reader = readers[count] ?? LaneReader(count)
        let lanes = Lines(lines).map { line in reader.number(ofLine: line).map { Int16($0) } ?? -1 }
        readers[count] = reader
        if known.count == LaneLines.knownMax { known.removeFirst() }
        known.append(Lanes(first: first, bytes: lines.count, count: count, ofLines: lanes))
        return lanes
    }
}
