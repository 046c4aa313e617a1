import EventLog

extension ReplayRange {
    /// Checks that the source's log has events, and that the range does not lie before or after all of them. Also
    /// checks that the range does not end before it begins, if both ends are sequences or both are times.
    ///
    /// - Throws: ``ReplayError/backwards(from:until:)``, ``ReplayError/beyond(_:)`` or
    ///   ``ReplayError/dropped(log:first:)``.
    package func check(_ recorded: RecordedPipeline) throws {
        let changes = recorded.stages[0].log
        try checkOrder()
        guard changes.lastSequence >= changes.firstSequence else {
            throw ReplayError.beyond("\(changes.name) holds no events")
        }
        if let from, changes.ends(before: from) {
            throw ReplayError.beyond(
                "\(changes.name) ends at \(changes.lastSequence), \(changes.lastNow?.rfc3339 ?? ""); it has no events "
                    + "from \(from.text) on")
        }
        if let until, changes.begins(after: until) {
            guard changes.firstSequence > 1 else {
                throw ReplayError.beyond(
                    "\(changes.name) begins at \(changes.firstNow?.rfc3339 ?? ""); it has no events up to \(until.text)"
                )
            }
            throw ReplayError.dropped(log: changes.name, first: changes.firstSequence)
        }
    }

    /// Warnings for the ends of the range that the log does not reach.
    package func notes(on recorded: RecordedPipeline) -> [String] {
        let changes = recorded.stages[0].log
        var notes: [String] = []
        if let from, changes.firstSequence > 1, changes.begins(after: from) {
            notes.append("\(changes.name) begins at \(changes.firstSequence); the events before it are gone")
        }
        if let until, until != .end, changes.ends(before: until) {
            notes.append("\(changes.name) ends at \(changes.lastSequence), before \(until.text)")
        }
        return notes
    }

    private func checkOrder() throws(ReplayError) {
        guard let from, let until else { return }
        switch (from, until) {
        case (.sequence(let first), .sequence(let last)) where first > last: break
        case (.time(let first), .time(let last)) where first > last: break
        default: return
        }
        throw .backwards(from: from.text, until: until.text)
    }
}

extension PipelinePosition {
    /// The position for messages: `17`, a time or `the end`.
    package var text: String {
        switch self {
        case .sequence(let sequence): "\(sequence)"
        case .time(let time): time.rfc3339
        case .end: "the end"
        }
    }
}

extension LogSummary {
    /// Whether the log has no events at `position` or later.
    package func ends(before position: PipelinePosition) -> Bool {
        switch position {
        case .sequence(let sequence): sequence > lastSequence
        case .time(let time): lastNow.map { $0 < time } ?? true
        case .end: false
        }
    }

    /// Whether the log has no events at `position` or earlier.
    func begins(after position: PipelinePosition) -> Bool {
        switch position {
        case .sequence(let sequence): sequence < firstSequence
        case .time(let time): firstNow.map { $0 > time } ?? true
        case .end: false
        }
    }
}
