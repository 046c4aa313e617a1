import EventLog
import Events
import JSON
import PipelineRuntime

/// What alone counts of all that a pipeline says.
package struct ReplayFocus: Hashable, Sendable {
    package enum Subject: String, CaseIterable, Sendable {
        case user
        case subscription
        case record
    }

    package let subject: Subject
    package let name: ExactText
    /// Changes of the record: what they led to is about it too, also where it names a newer record in whose
    /// notification they went along.
    private var changes: Set<UInt64> = []

    package init(_ subject: Subject, _ name: String) { (self.subject, self.name) = (subject, ExactText(name)) }

    /// The same, with what the record's changes in a pipeline's log led to. Reads the log of the source.
    package func following(_ recorded: RecordedPipeline) throws -> ReplayFocus {
        guard subject == .record, let source = recorded.stages.first(where: \.isSource) else { return self }
        var focus = self
        let reader = try EventLogReader(directory: source.log.directory, from: .beginning)
        while let batch = try reader.next() {
            for (sequence, line) in zip(batch.header.firstSequence..., Lines(batch.body)) where concerns(line) {
                focus.changes.insert(sequence)
            }
        }
        return focus
    }

    /// Whether an event or a push is about it.
    func concerns(_ line: UnsafeRawBufferPointer) -> Bool {
        var parser = JSONParser(limits: EventReader.linkLimits)
        do throws(JSONError) { return concerns(try parser.parse(line)) } catch { return false }
    }

    private func concerns(_ event: JSONValue) -> Bool {
        switch subject {
        case .user: event[.user]?.exact == name
        case .subscription:
            event[.subscriptionID]?.exact == name || event[.subscription]?[.subscriptionID]?.exact == name
                || isInPayload(of: event, "sid")
        case .record:
            event[.recordName]?.exact == name || event[.record]?[.recordName]?.exact == name
                || isInPayload(of: event, "rid") || isCaused(event)
        }
    }

    private func isCaused(_ event: JSONValue) -> Bool {
        guard !changes.isEmpty else { return false }
        let causes = event[.causes].map { $0.elements.compactMap { $0.natural(.sequence) } } ?? []
        let named = [event.natural(.change), event.natural(.replacedByChange)].compactMap(\.self)
        return (causes + named).contains(where: changes.contains)
    }

    /// `ck.qry.sid` and its like, whatever kind of notification it is.
    private func isInPayload(of push: JSONValue, _ key: String) -> Bool {
        guard let ck = push[.payload]?["ck"] else { return false }
        return ck.members.contains { $0.value.isObject && $0.value.member(key)?.exact == name }
    }
}

extension ReplayFocus {
    /// Whether a push is about it: one JSON object, as transports get it.
    package func concerns(_ line: [UInt8]) -> Bool { line.withUnsafeBytes { concerns($0) } }
}
