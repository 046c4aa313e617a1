import Events
import JSON
import PipelineKit
import Time

/// A change with more matches than fit into one part (see ``PartwiseStage``).
///
/// It keeps a copy of the change's event until all matches are written. The event is parsed again for each further
/// part. This costs little, because a part has room for many matches.
struct FanOut {
    let sequence: UInt64
    /// The number of matches that are already written.
    var written: Int
    private let line: [UInt8]
    private let isDelete: Bool

    init(_ event: borrowing InputEvent, written: Int) {
        sequence = event.sequence
        self.written = written
        line = unsafe event.line.withUnsafeBytes { unsafe Array($0) }
        isDelete = event.isOfType(EventName.recordDelete)
    }

    /// Parses the copy and calls `body` with the change.
    func withChange(at now: Instant, _ body: (Change) -> Void) {
        var parser = JSONParser(limits: JSONLimits(bytesMax: line.count, depthMax: 1_024))
        unsafe line.withUnsafeBytes { line in
            do {
                let event = unsafe InputEvent(sequence: sequence, json: try parser.parse(line), line: line)
                body(try Change(event, isDelete: isDelete, at: now))
            } catch { preconditionFailure("change \(sequence) cannot be parsed again: \(error)") }
        }
        withExtendedLifetime(parser) {}
    }
}
