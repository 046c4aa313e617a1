import EventLog
import Events
import JSON
import PipelineRuntime
import Time

/// Finds events by reading a range of a log. Skips lines that are not JSON.
package struct LogScan: EventFinder {
    static let limits = JSONLimits(bytesMax: 64 << 20, depthMax: 512)

    /// An event that is valid only until the closure that receives it returns. To keep the event, use ``copied``.
    package struct Event: ~Escapable {
        let sequence: UInt64
        let now: Instant
        package let json: JSONValue
        let line: UnsafeRawBufferPointer
        let cursor: Cursor

        @_lifetime(borrow line)
        init(sequence: UInt64, now: Instant, json: JSONValue, line: UnsafeRawBufferPointer, cursor: Cursor) {
            (self.sequence, self.now, self.json, self.line, self.cursor) = (sequence, now, json, line, cursor)
        }

        var copied: LoggedEvent { LoggedEvent(sequence: sequence, now: now, cursor: cursor, line: Array(line)) }
    }

    package init() {}

    package func events(
        in log: String, from first: UInt64, through last: UInt64, naming names: [SearchName],
        _ body: (LogScan.Event) throws -> Bool
    ) throws {
        guard first <= last else { return }
        let filter = LineFilter(names.flatMap(\.texts).map(RequiredValue.text))
        try LogScan.batches(of: LogScan.reader(of: log, from: first)) { batch in
            guard batch.header.firstSequence <= last else { return false }
            return try LogScan.events(of: batch, filter) { event in
                guard event.sequence >= first else { return true }
                return event.sequence <= last ? try body(event) : false
            }
        }
    }

    /// Reads whole batches from a time on, until `isEnough` returns true for the batch that was just read.
    ///
    /// - Parameter values: Most events that lack one of these values are left out, but not all. So `body` must check
    ///   each event.
    /// - Returns: False if the log ended before `isEnough` returned true.
    @discardableResult
    static func events(
        in log: String, from now: Instant, containing values: [RequiredValue] = [], body: (Event) throws -> Void,
        isEnough: (BatchHeader) -> Bool = { _ in false }
    ) throws -> Bool {
        let filter = LineFilter(values)
        var wasEnough = false
        try batches(of: EventLogReader(directory: log, from: .time(now))) { batch in
            _ = try events(of: batch, filter) { event in
                try body(event)
                return true
            }
            wasEnough = isEnough(batch.header)
            return !wasEnough
        }
        return wasEnough
    }

    /// Nil if the log does not contain the event yet, or any more.
    static func event(_ sequence: UInt64, in log: String) throws -> LoggedEvent? {
        var found: LoggedEvent?
        try LogScan().events(in: log, from: sequence, through: sequence, naming: []) { event in
            found = event.copied
            return false
        }
        return found
    }

    /// If retention removed the event `first`, the reader begins with the oldest event.
    private static func reader(of log: String, from first: UInt64) throws(EventLogError) -> EventLogReader {
        guard first > 1 else { return try EventLogReader(directory: log, from: .beginning) }
        do throws(EventLogError) {
            return try EventLogReader(directory: log, from: .sequence(first))
        } catch .gone {
            return try EventLogReader(directory: log, from: .beginning)
        }
    }

    private static func batches(
        of reader: EventLogReader, _ body: (EventLogReader.Batch) throws -> Bool
    ) throws {
        while let batch = try reader.next() {
            guard try body(batch) else { return }
        }
    }

    private static func events(
        of batch: EventLogReader.Batch, _ filter: LineFilter, _ body: (Event) throws -> Bool
    ) throws -> Bool {
        guard filter.mayContainAllValues(batch.body) else { return true }
        var parser = JSONParser(limits: limits)
        var sequence = batch.header.firstSequence
        for line in Lines(batch.body) {
            defer { sequence += 1 }
            guard filter.mayContainAllValues(line) else { continue }
            let json: JSONValue
            do throws(JSONError) { json = try parser.parse(line) } catch { continue }
            let event = Event(
                sequence: sequence, now: batch.header.now, json: json, line: line, cursor: batch.header.cursor)
            guard try body(event) else { return false }
        }
        return true
    }
}

extension LogScan {
    /// The first batch whose cursor shows that the log's stage has processed an event of its upstream log; nil if no
    /// batch shows it. See ``BatchHeader/reaches(_:)``.
    ///
    /// - Parameters:
    ///   - now: Batches before this time are skipped.
    ///   - sequence: The event's sequence in the upstream log.
    static func batch(in log: String, from now: Instant, reaching sequence: UInt64) throws -> BatchHeader? {
        let reader = try EventLogReader(directory: log, from: .time(now))
        while let header = try reader.nextHeader() {
            if header.reaches(sequence) { return header }
        }
        return nil
    }

    /// The sequence of the first event at or after a time; the next free sequence if there is no such event.
    static func firstSequence(in log: String, notBefore now: Instant) throws -> UInt64 {
        let reader = try EventLogReader(directory: log, from: .time(now))
        if let header = try reader.nextHeader() { return header.firstSequence }
        return try EventLogs.summary(directory: log).lastSequence + 1
    }
}

extension LoggedEvent {
    /// Calls `body` with the event's JSON, which is valid during the call.
    func withJSON<Result>(_ body: (JSONValue) throws -> Result) throws -> Result {
        var parser = JSONParser(limits: LogScan.limits)
        return try line.withUnsafeBytes { try body(try parser.parse($0)) }
    }
}

extension JSONValue {
    /// Nil if the value is not a whole number from 1 on.
    var sequence: UInt64? { int64.flatMap { $0 > 0 ? UInt64($0) : nil } }

    /// The sequences of the changes that led to a notification, push or outcome.
    var causes: [UInt64] { self[.causes]?.elements.compactMap { $0[.sequence]?.sequence } ?? [] }
}
