import CloudKitModel
import Events
import JSON
import PipelineKit
import Time

extension HeldNotifications {
    /// Writes the held notifications in the order in which they were first held, then the keys whose notifications left
    /// recently, the earliest first.
    func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(all: heldSlots.sorted { firstMatch($0) < firstMatch($1) }) { slot, snapshot in
            snapshot.write(due(slot))
            snapshot.write(firstMatch(slot))
            self[slot].write(into: &snapshot)
        }
        snapshot.write(all: recentlyLeftSlots) { slot, snapshot in
            snapshot.write(lastLeft(slot) ?? .epoch)
            snapshot.write(key(slot)?.bytes ?? [])
        }
    }

    mutating func read(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try readHeld(from: &snapshot)
        try readLeft(from: &snapshot)
    }

    private mutating func readLeft(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        var last = Instant.epoch
        for _ in 0..<(try snapshot.count()) {
            let (moment, bytes) = (try snapshot.instant(), try snapshot.array())
            guard let key = HoldKey(bytes: bytes), moment >= last,
                slot(of: key).flatMap({ lastLeft($0) }) == nil
            else { throw snapshot.error("a key is invalid or appears twice, or its time is out of order") }
            last = moment
            note(slot(of: key), key, leftAt: moment)
        }
    }

    private mutating func readHeld(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        var parser = JSONParser(limits: HeldNotification.limits)
        var last: UInt64 = 0
        for _ in 0..<(try snapshot.count()) {
            let (due, first) = (try snapshot.instant(), try snapshot.number())
            let (notification, key) = try HeldNotification.read(&snapshot, &parser)
            guard first > last, slot(of: key) == nil else {
                throw snapshot.error("a notification appears twice or is out of order")
            }
            last = first
            insert(notification, as: key, due: due, first: first)
        }
    }

    /// Writes one line for each notification, in the order in which they leave.
    func writeState(into lines: inout ByteBuffer) {
        var parser = JSONParser(limits: HeldNotification.limits)
        let order = heldSlots.sorted { (due($0), firstMatch($0)) < (due($1), firstMatch($1)) }
        for slot in order { self[slot].writeState(due: due(slot), &parser, into: &lines) }
    }
}

extension HeldNotification {
    fileprivate func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(since)
        snapshot.write(limit)
        snapshot.write(atLimit) { $1.write($0.rawValue) }
        snapshot.write(all: causes) { $1.write($0) }
        snapshot.write(isOriginShared)
        snapshot.write(sequence)
        snapshot.write(matchText)
    }

    fileprivate static func read(
        _ snapshot: inout SnapshotReader, _ parser: inout JSONParser
    ) throws(SnapshotError) -> (HeldNotification, HoldKey) {
        let (since, limit) = (try snapshot.instant(), try snapshot.instant())
        let atLimit = try snapshot.optional { snapshot throws(SnapshotError) in try AtLimit(&snapshot) }
        var causes: [UInt64] = []
        for _ in 0..<(try snapshot.count()) { causes.append(try snapshot.number()) }
        let isOriginShared = try snapshot.flag()
        let newest = try Match(&snapshot, &parser)
        guard newest.isReplaceable, causes.last == newest.change else {
            throw snapshot.error("a match is not replaceable, or not the newest of its notification")
        }
        let notification = HeldNotification(
            newest, since: since, limit: limit, earlier: causes.dropLast(), isOriginShared: isOriginShared,
            atLimit: atLimit)
        return (notification, HoldKey(newest))
    }
}

extension AtLimit {
    fileprivate init(_ snapshot: inout SnapshotReader) throws(SnapshotError) {
        let word = try snapshot.text()
        guard let atLimit = AtLimit(rawValue: word) else {
            let words = AtLimit.allCases.map(\.rawValue).joined(separator: ", ")
            throw snapshot.error("atLimit must be one of \(words), but is \"\(word.printable)\"")
        }
        self = atLimit
    }
}

extension Match {
    /// Reads a match as views into the snapshot, valid until the parser's next use.
    @_lifetime(copy snapshot)
    fileprivate init(_ snapshot: inout SnapshotReader, _ parser: inout JSONParser) throws(SnapshotError) {
        let sequence = try snapshot.number()
        let text = try snapshot.view()
        do {
            let json = try text.withUnsafeBytes { try parser.parse($0) }
            guard json.namesTypeFirst else {
                throw Rejection(code: "match.type", reason: "type is not the first member", path: "type")
            }
            try self.init(_overrideLifetime(JSONView(json), copying: text), sequence)
        } catch {
            throw snapshot.error("a match cannot be read: \(error)")
        }
    }
}

// MARK: - State

extension HeldNotification {
    fileprivate func writeState(due: Instant, _ parser: inout JSONParser, into lines: inout ByteBuffer) {
        matchText.withUnsafeBytes { text in
            do {
                writeState(of: try parser.parse(text), due: due, into: &lines)
            } catch {
                preconditionFailure("a held match cannot be parsed: \(error)")
            }
        }
    }

    private func writeState(of match: JSONValue, due: Instant, into lines: inout ByteBuffer) {
        lines.append("{")
        for key in [.container, .environment, .database, .user, .subscriptionID] as [Member] {
            lines.append(pair: key, match[key])
        }
        lines.append(pair: "collapseID", match[.notificationInfo]?["collapseIDKey"])
        lines.append("\"")
        lines.append(Member.causes)
        lines.append("\":[")
        for (index, change) in causes.enumerated() {
            lines.append(index == 0 ? "{\"log\":\"changes\",\"sequence\":" : ",{\"log\":\"changes\",\"sequence\":")
            lines.appendJSON(change)
            lines.append("}")
        }
        lines.append("],\"due\":")
        lines.appendJSON(due.rfc3339)
        lines.append(",\"limit\":")
        lines.appendJSON(limit.rfc3339)
        lines.append("}\n")
    }
}

extension ByteBuffer {
    /// Appends `"key":value,` unless the value is missing, null, false or empty.
    fileprivate mutating func append(pair key: Member, _ value: JSONValue?) {
        guard let value, !value.isUnset else { return }
        append("\"")
        append(key)
        append("\":")
        append(value.raw)
        append(",")
    }
}
