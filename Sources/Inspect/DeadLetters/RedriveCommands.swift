import EventLog
import Events
import JSON
import PipelineRuntime
import Time

/// Makes the ingest commands that redrive dead letters.
package struct RedriveCommands: Sendable {
    /// The reason why no command can be made for a letter.
    package struct ImpossibleCommand: Error {
        package let reason: String
    }

    let folder: String
    /// Pushes that have expired by this time are sent for one attempt only.
    let now: Instant

    private static let pushMembers =
        ([
            .type, .notificationID, .container, .environment, .user, .subscriptionID, .headers, .payload,
            .payloadByTopic, .unpruned, .causes,
        ] as [Member]).map(\.description)

    package init(folder: String, now: Instant) { (self.folder, self.now) = (folder, now) }

    /// The command that redrives a letter: one line, without a line feed.
    package func command(_ letter: DeadLetter) throws -> [UInt8] {
        let line = try letter.isPush ? redrive(letter) : event(letter)
        guard line.count <= DoorLimits.lineBytesMax else {
            throw ImpossibleCommand(
                reason: "its command has \(line.count) bytes; ingest accepts at most \(DoorLimits.lineBytesMax)")
        }
        return line
    }

    /// What a push shows and plays, for people. Nil for a rejected event, and for a push for which no
    /// command can be made.
    package func content(_ letter: DeadLetter) throws -> String? {
        guard letter.isPush else { return nil }
        do {
            var parser = JSONParser(limits: LogScan.limits)
            return try command(letter).withUnsafeBytes { try Self.content(parser.parse($0)[.push]) }
        } catch is ImpossibleCommand { return nil }
    }

    private static func content(_ push: JSONValue?) -> String {
        push.map(EventFacts.content) ?? "silent"
    }

    private func redrive(_ letter: DeadLetter) throws -> [UInt8] {
        try logged(letter.source).withJSON { json in
            let body = json[.type]?.equals(EventName.pushRedrive) ?? false ? json[.push] : json
            guard let body, body.isObject else { throw ImpossibleCommand(reason: "\(letter.source) contains no push") }
            let whole = redrive(letter, body, leavingOut: [])
            return whole.count <= DoorLimits.lineBytesMax ? whole : redrive(letter, body, leavingOut: ["unpruned"])
        }
    }

    private func redrive(_ letter: DeadLetter, _ push: JSONValue, leavingOut: Set<String>) -> [UInt8] {
        var buffer = ByteBuffer(capacity: push.raw.count + 512)
        buffer.begin(event: EventName.pushRedrive)
        for member in [.container, .environment, .user] as [Member] { buffer.append(member, push[member]) }
        buffer.append(.device, letter.device?.string ?? "")
        buffer.append(.redriveOf, raw: letter.source.json)
        buffer.append(member: .push)
        write(push, leavingOut, letter.push, to: &buffer)
        buffer.append("}")
        return Array(buffer.bytes)
    }

    /// Writes the members of a `push` event. Leaves out `origin`: a redrive goes to the letter's device, even if this
    /// device made the change. Also leaves out members that a plugin added.
    private func write(
        _ push: JSONValue, _ leavingOut: Set<String>, _ undelivered: UndeliveredPush?, to buffer: inout ByteBuffer
    ) {
        let removesBadge = undelivered?.isBadgeOutdated ?? false
        let isExpired = undelivered?.expiresAt.map { $0 <= now } ?? false
        buffer.object { buffer in
            for key in Self.pushMembers where !leavingOut.contains(key) {
                guard let value = push.member(key) else { continue }
                buffer.append(key: key)
                switch key {
                case Member.headers where isExpired: Self.writeForOneAttempt(value, to: &buffer)
                case Member.payload where removesBadge, Member.unpruned where removesBadge:
                    Self.writeWithoutBadge(value, to: &buffer)
                case Member.payloadByTopic where removesBadge:
                    buffer.rewrite(value) { _, payload, buffer in
                        Self.writeWithoutBadge(payload, to: &buffer)
                        return true
                    }
                default: buffer.append(value.raw)
                }
            }
        }
    }

    /// APNs: a push with expiration 0 is tried once (Sending notification requests to APNs).
    private static func writeForOneAttempt(_ headers: JSONValue, to buffer: inout ByteBuffer) {
        buffer.rewrite(headers) { key, value, buffer in
            key.equals(.apnsExpiration) ? buffer.append("\"0\"") : buffer.append(value.raw)
            return true
        }
    }

    private static func writeWithoutBadge(_ payload: JSONValue, to buffer: inout ByteBuffer) {
        buffer.rewrite(payload) { key, value, buffer in
            guard key.equals("aps") else {
                buffer.append(value.raw)
                return true
            }
            buffer.rewrite(value) { key, value, buffer in
                buffer.append(value.raw)
                return !key.equals("badge")
            }
            return true
        }
    }

    private func event(_ letter: DeadLetter) throws -> [UInt8] {
        try logged(letter.place).withJSON { json in
            guard let text = json[.event], let line = RejectedEventText.withEvent(text, { Array($0.raw) }) else {
                throw ImpossibleCommand(reason: "its event is not a JSON object")
            }
            return line
        }
    }

    private func logged(_ place: EventPlace) throws -> LoggedEvent {
        guard let event = try LogScan.event(place.sequence, in: folder + "/" + place.log) else {
            throw ImpossibleCommand(reason: "\(place) is no longer in the log")
        }
        return event
    }
}
