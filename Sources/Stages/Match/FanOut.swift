import Events
import JSON
import PipelineKit
import Time

/// A change with more matches than one part holds: its event, kept until all are written.
///
/// The event is read anew for each part, which costs less than writing one match.
struct FanOut {
    let sequence: UInt64
    /// How many of the matches found are written.
    var written: Int
    private let line: [UInt8]
    private let isDelete: Bool

    init(_ event: borrowing InputEvent, written: Int) {
        sequence = event.sequence
        self.written = written
        line = unsafe event.line.withUnsafeBytes { unsafe Array($0) }
        isDelete = event.isOfType(EventName.recordDelete)
    }

    /// Calls `body` with the change as it was when the event was received.
    func withChange(at now: Instant, _ body: (Change) -> Void) {
        var parser = JSONParser(limits: JSONLimits(bytesMax: line.count, depthMax: 1_024))
        unsafe line.withUnsafeBytes { line in
            do {
                let event = unsafe InputEvent(sequence: sequence, json: try parser.parse(line), line: line)
                body(try Change(event, isDelete: isDelete, at: now))
            } catch { preconditionFailure("a change that was read once is read again: \(error)") }
        }
        withExtendedLifetime(parser) {}
    }
}
