import JSON

/// Finds copies of events that stages pass on unchanged, such as device registrations.
///
/// Several events may have the same content, as when a device registers again. A stage copies such events in their
/// order. The copy of an event is in the first batch whose cursor is at the event or after it.
extension Causality {
    /// The copy of an event in the log of a stage that passes it on.
    func copy(of event: TraceEvent, in log: TracedLog) throws -> TraceEvent? {
        guard let key = event.passingKey, let own = logs.log(named: event.log) else { return nil }
        let copies = try events(equalTo: event, key, in: log)
        let ends = copies.map { $0.cursor.positions[event.log] ?? .max }
        guard let first = ends.firstIndex(where: { $0 >= event.sequence }) else { return nil }
        let start = first > 0 ? ends[first - 1] : 0
        let before = try events(equalTo: event, key, in: own, start + 1, through: event.sequence).count - 1
        let batch = copies[first...].prefix { $0.cursor.positions[event.log] ?? .max == ends[first] }
        return batch.dropFirst(before).first ?? batch.last
    }

    /// The original of an event that stages passed on; the event itself if no original is found.
    func original(of event: TraceEvent) throws -> TraceEvent {
        guard let key = event.passingKey, let upstream = logs.log(named: event.log)?.upstream,
            let log = logs.log(named: upstream), let own = logs.log(named: event.log)
        else { return event }
        let end = event.cursor.positions[upstream] ?? .max
        let earlier = try events(equalTo: event, key, in: own, 1, through: event.sequence).dropLast()
        let ends = earlier.map { $0.cursor.positions[upstream] ?? .max }
        let start = ends.last { $0 < end } ?? 0
        let sources = try events(equalTo: event, key, in: log, start + 1, through: end)
        let source = sources.dropFirst(ends.count { $0 == end }).first ?? sources.last
        return try source.map(original) ?? event
    }

    private func events(
        equalTo event: TraceEvent, _ key: TraceKey, in log: TracedLog, _ first: UInt64 = 1, through last: UInt64 = .max
    ) throws -> [TraceEvent] {
        guard first <= last else { return [] }
        let content = event.content
        var found: [TraceEvent] = []
        try logs.index(of: log).find([key.hash], in: first...last) { candidate in
            if candidate.content == content { found.append(TraceEvent(candidate, log: log.name)) }
            return true
        }
        return found
    }
}

extension TraceEvent {
    /// A key that an event shares with its copies. Nil for a change without a record name, and for the events that
    /// Belfry's stages make: ``Causality`` finds their causes and effects by the references in them.
    fileprivate var passingKey: TraceKey? {
        if facts.isChange { return facts.recordName.map { TraceKey(.record, $0) } }
        return facts.isMade ? nil : TraceKey(content: content)
    }
}
