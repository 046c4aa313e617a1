import Events
import JSON
import PipelineKit
import Time

extension DeliverStage {
    package static let snapshotVersion: Int? = 5
    package static let stateName: String? = "devices"
    package static let otherStateNames = ["pending"]

    package func snapshot(into snapshot: inout SnapshotWriter) {
        registry.write(into: &snapshot)
        snapshot.write(notBefore)
        snapshot.write(all: settings.transports) { transport, snapshot in
            snapshot.write(transport.name)
            snapshot.write(transport.fingerprint)
        }
        snapshot.write(all: registry.apps.sortedIndices.filter { !registry.apps[$0].isInitial }) {
            app, snapshot in
            registry.apps.keys[app].write(into: &snapshot)
            registry.apps[app].write(into: &snapshot)
        }
        snapshot.write(all: pending.inOrder) { $0.write(into: &$1) }
        snapshot.write(all: ledger.inOrder) { $0.write(into: &$1) }
        snapshot.write(all: effects) { $0.write(registry.apps, into: &$1) }
    }

    package mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try registry.read(from: &snapshot)
        notBefore = try snapshot.instant()
        let changed = try readChangedTransports(&snapshot)
        var released: [Int] = []
        for _ in 0..<(try snapshot.count(bytesEach: 5)) {
            let key = try AppKey(from: &snapshot)
            let app = registry.apps.index(of: key)
            try AppState.read(app, of: &registry, from: &snapshot)
            guard changed.contains(key.transport) else { continue }
            registry.apps[app].forgetAnswers()
            if registry.apps[app].hold != nil { released.append(app) }
        }
        for _ in 0..<(try snapshot.count(bytesEach: 8)) {
            pending.insert(try PendingPush(from: &snapshot, &registry))
        }
        for _ in 0..<(try snapshot.count(bytesEach: 8)) { try ledger.insert(from: &snapshot, &registry) }
        for _ in 0..<(try snapshot.count(bytesEach: 2)) {
            effects.append(try ScheduledEffect(from: &snapshot, &registry))
        }
        effects =
            released.sorted { registry.apps.keys[$0] < registry.apps.keys[$1] }.map {
                ScheduledEffect(.resumeAfterSettingsChange(app: $0), after: .epoch)
            } + effects
        updateDeadline()
    }

    /// - Returns: The names of the transports that were removed or added since the snapshot, or that have other
    ///   settings now.
    private func readChangedTransports(_ snapshot: inout SnapshotReader) throws(SnapshotError) -> Set<String> {
        var changed = Dictionary(settings.transports.map { ($0.name, $0.fingerprint) }) { $1 }
        for _ in 0..<(try snapshot.count(bytesEach: 2)) {
            let (name, fingerprint) = (try snapshot.text(), try snapshot.number())
            changed[name] = changed[name] == fingerprint ? nil : fingerprint
        }
        return Set(changed.keys)
    }

    package func writeState(into lines: inout ByteBuffer) {
        registry.writeState(pending: pending.countByDevice, into: &lines)
    }

    package func writeState(_ name: String, into lines: inout ByteBuffer) {
        for push in pending.inOrder { push.writeState(into: &lines) }
    }

    /// The answer that an outcome or attempt records; nil if the event records no answer of a transport.
    package static func answer(recordedIn event: borrowing InputEvent) -> TransportAnswer? {
        let isNotice = event.isOfType(EventName.noticeOutcome) || event.isOfType(EventName.noticeAttempt)
        guard isNotice || event.isOfType(EventName.outcome) || event.isOfType(EventName.attempt) else { return nil }
        let json = event.value
        let word = json[.answer] ?? json[.outcome]
        guard let outcome = word?.string.flatMap(TransportAnswer.Outcome.init(rawValue:)),
            let push = json[.push]?.int64, push > 0,
            let device = json[.device]?.string,
            let attempts = (json[.tries] ?? json[.attempts])?.int64
        else { return nil }
        let id = Delivery.ID(
            push: UInt64(push), device: device, retired: isNotice ? json[.registered]?.moment : nil)
        let (status, reason) = (json[.status]?.int64.map { Int($0) }, json[.reason])
        var answer = TransportAnswer(id, outcome, status: status, reason: reason?.string, attempts: Int(attempts))
        let hasMore = json.count > plainMemberCount + (status == nil ? 0 : 1) + (reason == nil ? 0 : 1)
        if hasMore { readMore(of: json, into: &answer) }
        return answer
    }

    /// The number of members that every outcome with an answer has besides `status` and `reason`.
    private static let plainMemberCount = 10

    private static func readMore(of json: JSONValue, into answer: inout TransportAnswer) {
        if let said = json[.said]?.string { answer.reason = said.isEmpty ? nil : said }
        answer.until = json[.until]?.moment
        answer.since = json[.since]?.moment
        answer.receivedAt = json[.at]?.moment
        answer.isUnderWay = json[.underWay]?.bool ?? false
        answer.mayRepeat = json[.repeatPossible]?.bool ?? false
        answer.receipt = json[.receipt]?.string
    }
}

extension JSONValue {
    fileprivate var moment: Instant? { withUTF8 { Instant(rfc3339: $0) } ?? nil }
}

extension PendingPush {
    fileprivate func writeState(into lines: inout ByteBuffer) {
        lines.append(first: .push)
        lines.appendJSON(push)
        if isNotice { lines.append("notice", word: EventName.deviceRetired) }
        lines.append(member: .user)
        device.owner.split(separator: 0).last?.withUnsafeBytes { lines.appendJSON(utf8: $0) }
        device.writeName(to: &lines)
        lines.append(isNotice ? .webhookID : .apnsID, id.description)
        lines.append("waits", isHeld ? PendingPush.heldWord : TransportAnswer.Outcome.deferred.rawValue)
        lines.append(status: status, reason: reason)
        lines.append(.attempts, attempts)
        if isStillAtTransport { lines.append(.underWay, true) }
        lines.append("came", arrived)
        lines.append("due", due)
        lines.append("}\n")
    }
}
