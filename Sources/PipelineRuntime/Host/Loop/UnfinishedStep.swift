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
    ///   - firstOut: The first event whose pushes are handed out and not all answered: their answers are in later
    ///     batches.
    ///   - past: What the log's cursor says before the batch.
    init(
        _ upstream: String, _ position: UInt64, unfinished: UnfinishedStep?, firstOut: UInt64? = nil, past: Cursor
    ) {
        self.init([upstream: position])
        let out = upstream + Self.out
        if firstOut != nil || past.positions[out] != nil { positions[out] = firstOut ?? 0 }
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

    /// The first event of the upstream's log whose pushes are out when the batch is written: of all events before it,
    /// outcomes or attempts are in the log. Nil where no push waits for its first answer.
    package var firstOut: UInt64? { positions.first { $0.value > 0 && $0.key.hasSuffix(Self.out) }?.value }

    /// Whether pushes that are handed out in the batch are answered in later ones.
    package var handsOut: Bool { firstOut != nil }

    /// The upstream's log and the last sequence done: the one entry in the log of a stage that reads another's.
    package var input: (log: String, position: UInt64)? {
        // No log's name has a slash: see ``EventLogLimits``.
        positions.first { !$0.key.contains("/") }.map { ($0.key, $0.value) }
    }
}
