import EventLog
import Glibc
import JSON
import Time

/// Reads the events of a log that may still grow.
final class LogEvents {
    private let reader: EventLogReader
    private var next: UInt64
    private var parser = JSONParser(limits: JSONLimits(bytesMax: EventLogLimits.eventBytesMax))

    init(directory: String, from first: UInt64) throws(EventLogError) {
        reader = try EventLogReader(directory: directory, from: .sequence(first))
        next = first
    }

    /// Called with an event, and with the time of its batch.
    typealias Visit = (_ sequence: UInt64, _ event: JSONValue, _ time: Instant) throws -> Void

    /// Calls `visit` with each event up to the current end of the log.
    func read(_ visit: Visit) throws {
        while try readBatch(visit) {}
    }

    /// Calls `visit` with each event of the next batch.
    ///
    /// - Parameter unwanted: Events whose line begins with this text are skipped without parsing. An empty text skips
    ///   no event.
    /// - Returns: False at the current end of the log.
    func readBatch(except unwanted: StaticString = "", _ visit: Visit) throws -> Bool {
        guard let batch = try reader.next() else { return false }
        var rest = batch.body
        for sequence in batch.header.firstSequence..<batch.header.nextSequence {
            let line = rest.cutLine()
            guard sequence >= next, !line.begins(with: unwanted) else { continue }
            try visit(sequence, try parser.parse(line), batch.header.now)
        }
        next = max(next, batch.header.nextSequence)
        return true
    }

    /// The last event that was read.
    var last: UInt64 { next - 1 }
}

extension UnsafeRawBufferPointer {
    /// Removes the first line, and returns it without its line feed.
    fileprivate mutating func cutLine() -> UnsafeRawBufferPointer {
        guard let baseAddress, let feed = memchr(baseAddress, CInt(UInt8(ascii: "\n")), count) else { return self }
        let length = baseAddress.distance(to: feed)
        defer { self = UnsafeRawBufferPointer(rebasing: self[(length + 1)...]) }
        return UnsafeRawBufferPointer(rebasing: self[..<length])
    }

    fileprivate func begins(with text: StaticString) -> Bool {
        guard text.utf8CodeUnitCount > 0, count >= text.utf8CodeUnitCount, let baseAddress else { return false }
        return memcmp(baseAddress, text.utf8Start, text.utf8CodeUnitCount) == 0
    }
}
