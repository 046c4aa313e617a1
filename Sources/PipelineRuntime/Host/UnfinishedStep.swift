import EventLog

/// What a stage was in the middle of when the last batch of its log was written: the outputs of one event, or of one
/// wake, go into as many batches as they need.
///
/// The cursor of such a batch does not include the event. It has one entry more, named after the upstream's log and
/// `/event` or `/wake`, with the sequence of the first output; the batch with the last output sets it to 0. So the
/// cursor of a log says how much of a step it holds already.
package struct UnfinishedStep: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// The event behind the cursor.
        case event
        /// The wake at the batch's `now`.
        case wake

        fileprivate func entry(_ upstream: String) -> String { "\(upstream)/\(rawValue)" }
    }

    package var kind: Kind
    /// The sequence of the step's first output.
    package var first: UInt64

    init(_ kind: Kind, first: UInt64) { (self.kind, self.first) = (kind, first) }

    /// Nil where a cursor speaks of whole steps.
    package init?(_ cursor: Cursor, of upstream: String) {
        for kind in Kind.allCases {
            guard let first = cursor.positions[kind.entry(upstream)], first > 0 else { continue }
            self.init(kind, first: first)
            return
        }
        return nil
    }
}

extension Cursor {
    /// - Parameters:
    ///   - unfinished: The step that the batch is a part of.
    ///   - handsOut: Whether pushes are handed out in the batch, whose answers are in later ones.
    ///   - past: What the log's cursor says before the batch.
    init(
        _ upstream: String, _ position: UInt64, unfinished: UnfinishedStep?, handsOut: Bool = false, past: Cursor
    ) {
        self.init([upstream: position])
        if handsOut || past.positions[upstream + Self.out] != nil { positions[upstream + Self.out] = handsOut ? 1 : 0 }
        for kind in UnfinishedStep.Kind.allCases {
            let entry = kind.entry(upstream)
            if kind == unfinished?.kind {
                positions[entry] = unfinished?.first
            } else if past.positions[entry] != nil {
                positions[entry] = 0
            }
        }
    }

    private static let out = "/out"

    /// Whether pushes are handed out in the batch, whose answers are in later ones.
    package var handsOut: Bool { positions.contains { $0.value > 0 && $0.key.hasSuffix(Self.out) } }

    /// The upstream's log and the last sequence done: the one entry in the log of a stage that reads another's.
    package var input: (log: String, position: UInt64)? {
        // No log's name has a slash: see ``EventLogLimits``.
        positions.first { !$0.key.contains("/") }.map { ($0.key, $0.value) }
    }
}
