import EventLog
import Events
import JSON
import PipelineRuntime

/// The one user, subscription or record whose events are compared.
package struct ReplayFocus: Hashable, Sendable {
    package enum Subject: String, CaseIterable, Sendable {
        case user
        case subscription
        case record
    }

    package let subject: Subject
    package let name: ExactText
    /// Sequences of the record's changes. The effects of these changes are compared too, even if a coalesced
    /// notification names another record.
    private var changes: Set<UInt64> = []

    package init(_ subject: Subject, _ name: String) { (self.subject, self.name) = (subject, ExactText(name)) }

    /// A focus on a record, extended to the effects of the record's changes in the source's log. Any other focus does
    /// not change.
    package func followingEffects(in recorded: RecordedPipeline) throws -> ReplayFocus {
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

    /// Whether an event or a push is about the subject.
    func concerns(_ line: UnsafeRawBufferPointer) -> Bool { readEvent(line, concerns) ?? false }

    /// Whether a push, one JSON object, is about the subject.
    package func concerns(_ push: [UInt8]) -> Bool { push.withUnsafeBytes { concerns($0) } }

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

    /// Whether the push's payload has the subject's name under this key. The key is in an object that depends
    /// on the kind of notification, such as `ck.qry.sid` in a query notification.
    private func isInPayload(of push: JSONValue, _ key: String) -> Bool {
        guard let ck = push[.payload]?["ck"] else { return false }
        return ck.members.contains { $0.value.isObject && $0.value.member(key)?.exact == name }
    }
}

/// Parses an event and reads a value from it. Nil when the line is not JSON, or when `read` returns nil.
func readEvent<Value>(_ line: UnsafeRawBufferPointer, _ read: (JSONValue) -> Value?) -> Value? {
    var parser = JSONParser(limits: EventReader.linkLimits)
    do throws(JSONError) { return read(try parser.parse(line)) } catch { return nil }
}
