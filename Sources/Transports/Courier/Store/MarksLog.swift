import EventLog
import Events
import Foundation
import JSON
import Time

/// The courier's own event log: the pushes that polls took, that users read, and that came late. The store can be
/// rebuilt from this log and the logs of the pipeline.
struct MarksLog {
    enum Mark: Hashable {
        case taken(apnsID: String)
        case read(push: Int64)
        /// The push came after a push with a higher number.
        case late(push: Int64)
    }

    private static let segmentBytesMax = 4 << 20

    private let writer: EventLogWriter
    private let hasHome: Bool

    init(_ plan: CourierStorePlan) throws(EventLogError) {
        let store = plan.store as NSString
        let (folder, name) = (store.deletingLastPathComponent, store.lastPathComponent + ".marks")
        var options = EventLogOptions(
            directory: folder, name: name, segmentBytesMax: Self.segmentBytesMax, sync: plan.sync, mode: plan.mode)
        (options.home, options.nameInHome, hasHome) = (plan.home, plan.marksInHome, plan.home != nil)
        writer = try EventLogWriter(options)
    }

    /// The last mark's number.
    var last: Int64 { Int64(writer.lastSequence) }

    /// Appends marks in one step: after a crash the log has all of them or none.
    ///
    /// - Parameter isDurable: Whether to wait until the marks survive a power failure. If the log has a home, the call
    ///   always waits for it: after a crash, marks that the home does not have would be cut off.
    func append(_ marks: [Mark], now: Instant, isDurable: Bool = false) throws(EventLogError) {
        guard !marks.isEmpty else { return }
        var lines = ByteBuffer(capacity: marks.count * 80)
        for mark in marks { mark.write(to: &lines) }
        _ = try writer.append(lines.bytes, count: marks.count, now: max(now, writer.lastNow))
        if isDurable || hasHome { try writer.flush() }
    }

    /// Calls `body` with each mark after the given number, in order.
    func read(after number: Int64, _ body: (Int64, Mark) throws -> Void) throws {
        let first = try EventLogs.summary(directory: writer.directory).firstSequence
        let events = try LogEvents(directory: writer.directory, from: max(UInt64(number) + 1, first))
        try events.read { sequence, event, _ in
            if let mark = Mark(event) { try body(Int64(sequence), mark) }
        }
    }

    /// Drops the segments whose marks are all older than `time`, except the newest segment.
    func trim(before time: Instant) throws(EventLogError) {
        let old = try writer.segments().dropLast().prefix { $0.lastNow.map { $0 < time } ?? false }
        if let last = old.last { try writer.trim(before: last.lastSequence + 1) }
    }
}

extension MarksLog.Mark {
    fileprivate init?(_ event: JSONValue) {
        if event[.type]?.equals("taken") == true, let id = event[.apnsID]?.string {
            self = .taken(apnsID: id)
        } else if event[.type]?.equals("read") == true, let push = event[.push]?.int64 {
            self = .read(push: push)
        } else if event[.type]?.equals("late") == true, let push = event[.push]?.int64 {
            self = .late(push: push)
        } else {
            return nil
        }
    }

    fileprivate func write(to lines: inout ByteBuffer) {
        switch self {
        case .taken(let id):
            lines.begin(event: "taken")
            lines.append(.apnsID, id)
        case .read(let push):
            lines.begin(event: "read")
            lines.append(.push, push)
        case .late(let push):
            lines.begin(event: "late")
            lines.append(.push, push)
        }
        lines.append("}\n")
    }
}
