import EventLog

/// The step that a stage had not finished when a batch of its log was written. A step is one event or wake; its outputs
/// may fill several batches.
///
/// If a batch does not finish a step, its cursor has an additional entry, named after the upstream's log and `/event`
/// or `/wake`, with the sequence of the step's first output. If the step is an event, the cursor does not include the
/// event yet. The batch that ends the step sets the entry to 0.
package struct UnfinishedStep: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// The event after the cursor.
        case event
        case wake

        fileprivate func entry(_ upstream: String) -> String { "\(upstream)/\(rawValue)" }
    }

    package var kind: Kind
    /// The sequence of the step's first output.
    package var first: UInt64

    init(_ kind: Kind, first: UInt64) { (self.kind, self.first) = (kind, first) }

    /// Nil if no step is unfinished at the cursor.
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
    ///   - unfinished: The step that the batch begins or continues, but does not finish. Nil if it finishes its steps.
    ///   - firstUnanswered: See ``firstUnanswered``.
    ///   - past: The cursor before the batch.
    init(
        _ upstream: String, _ position: UInt64, unfinished: UnfinishedStep?, firstUnanswered: UInt64? = nil,
        past: Cursor
    ) {
        self.init([upstream: position])
        let out = upstream + Self.out
        if firstUnanswered != nil || past.positions[out] != nil { positions[out] = firstUnanswered ?? 0 }
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

    /// A sequence of the upstream log. The stage's own log holds outcomes or attempts for all pushes of the events
    /// before this sequence. The sequence is:
    ///
    /// - If pushes waited for their first answer when the batch was written: the first event with such a push.
    /// - Otherwise, if the batch handed out retries: the sequence after the cursor.
    /// - Otherwise nil, even if retries that earlier batches handed out had no answer.
    package var firstUnanswered: UInt64? { positions.first { $0.value > 0 && $0.key.hasSuffix(Self.out) }?.value }

    /// Whether pushes were unanswered when the batch was written: first attempts, or retries that this batch handed
    /// out.
    package var hasUnansweredPushes: Bool { firstUnanswered != nil }

    /// The upstream's log, and the last of its sequences whose outputs are complete. Meaningless in the cursor of a
    /// source, which has the positions of producers instead.
    package var input: (log: String, position: UInt64)? {
        // No log's name has a slash: see ``EventLogLimits``.
        positions.first { !$0.key.contains("/") }.map { ($0.key, $0.value) }
    }
}
