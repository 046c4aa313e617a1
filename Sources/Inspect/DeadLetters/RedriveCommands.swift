import Events
import JSON
import Time

/// Makes commands for ingest of letters.
package struct RedriveCommands: Sendable {
    /// A letter that cannot be made a command of after all.
    package struct Unfit: Error {
        package let reason: String
    }

    /// The folder of the logs.
    let folder: String
    /// What has expired by then is sent once, and not stored.
    let now: Instant

    /// What the door takes: one line may have so many bytes.
    private static let lineBytesMax = 1_000_000 - 1
    private static let pushMembers =
        ([
            .type, .notificationID, .container, .environment, .user, .subscriptionID, .headers, .payload,
            .payloadByTopic,
            .unpruned, .causes,
        ] as [Member]).map(\.description)
    package init(folder: String, now: Instant) { (self.folder, self.now) = (folder, now) }

    /// One line, without a line feed.
    package func command(_ letter: Letter) throws -> [UInt8] {
        let line: [UInt8]
        switch letter.content {
        case .push: line = try redrive(letter)
        case .event: line = try event(letter)
        }
        guard line.count <= Self.lineBytesMax else {
            throw Unfit(reason: "it has \(line.count) bytes: the door takes less")
        }
        return line
    }

    /// What a push shows, in quotes; nil for all else.
    package func content(_ letter: Letter) throws -> String? {
        guard letter.isPush else { return nil }
        do {
            var parser = JSONParser(limits: LogScan.limits)
            return try command(letter).withUnsafeBytes { try Self.content(parser.parse($0)[.push]) }
        } catch is Unfit { return nil }
    }

    private static func content(_ push: JSONValue?) -> String {
        push.flatMap(EventFacts.alert).map { "\"\($0)\"" } ?? "silent"
    }

    private func redrive(_ letter: Letter) throws -> [UInt8] {
        guard let event = try LogScan.event(letter.subject.sequence, in: folder + "/" + letter.subject.log) else {
            throw Unfit(reason: "\(letter.subject) is not there any more")
        }
        return try event.withJSON { json in
            let body = json[.type]?.equals(EventName.pushRedrive) ?? false ? json[.push] : json
            guard let body, body.isObject else { throw Unfit(reason: "\(letter.subject) holds no push") }
            let whole = redrive(letter, body, leavingOut: [])
            return whole.count <= Self.lineBytesMax ? whole : redrive(letter, body, leavingOut: ["unpruned"])
        }
    }

    private func redrive(_ letter: Letter, _ push: JSONValue, leavingOut: Set<String>) -> [UInt8] {
        var buffer = ByteBuffer(capacity: push.raw.count + 512)
        buffer.begin(event: EventName.pushRedrive)
        for member in [.container, .environment, .user] as [Member] { buffer.append(member, push[member]) }
        buffer.append(.device, letter.device?.string ?? "")
        buffer.append(.redriveOf, raw: letter.subject.json)
        buffer.append(member: .push)
        write(push, leavingOut, letter.past, to: &buffer)
        buffer.append("}")
        return Array(buffer.bytes)
    }

    /// What a plugin added to the push, deliver would not read.
    private func write(
        _ push: JSONValue, _ leavingOut: Set<String>, _ past: PastPush?, to buffer: inout ByteBuffer
    ) {
        let leavesBadge = past?.isBadgeOld ?? false
        let isExpired = past?.expiresAt.map { $0 <= now } ?? false
        buffer.object { buffer in
            for key in Self.pushMembers where !leavingOut.contains(key) {
                guard let value = push.member(key) else { continue }
                buffer.append(key: key)
                switch key {
                case Member.headers where isExpired: Self.writeForOneAttempt(value, to: &buffer)
                case Member.payload where leavesBadge, Member.unpruned where leavesBadge:
                    Self.writeWithoutBadge(value, to: &buffer)
                case Member.payloadByTopic where leavesBadge:
                    Self.members(value, to: &buffer) { Self.writeWithoutBadge($1, to: &$2) }
                default: buffer.append(value.raw)
                }
            }
        }
    }

    /// APNs: an expiration of 0 is for one attempt (Sending notification requests to APNs).
    private static func writeForOneAttempt(_ headers: JSONValue, to buffer: inout ByteBuffer) {
        members(headers, to: &buffer) { key, value, buffer in
            key.equals(.apnsExpiration) ? buffer.append("\"0\"") : buffer.append(value.raw)
        }
    }

    private static func writeWithoutBadge(_ payload: JSONValue, to buffer: inout ByteBuffer) {
        members(payload, to: &buffer) { key, value, buffer in
            guard key.equals("aps"), value.isObject else { return buffer.append(value.raw) }
            members(value, except: "badge", to: &buffer) { $2.append($1.raw) }
        }
    }

    /// Writes an object anew, its members' values by `write`.
    private static func members(
        _ object: JSONValue, except unwanted: StaticString = "", to buffer: inout ByteBuffer,
        _ write: (_ key: JSONValue, _ value: JSONValue, inout ByteBuffer) -> Void
    ) {
        buffer.rewrite(object) { key, value, buffer in
            if !key.equals(unwanted) { write(key, value, &buffer) }
            return !key.equals(unwanted)
        }
    }

    private func event(_ letter: Letter) throws -> [UInt8] {
        guard let event = try LogScan.event(letter.place.sequence, in: folder + "/" + letter.place.log) else {
            throw Unfit(reason: "\(letter.place) is not there any more")
        }
        return try event.withJSON { json in
            guard let text = json[.event], let line = RefusedEvent.withEvent(text, { Array($0.raw) }) else {
                throw Unfit(reason: "its event is no JSON object")
            }
            return line
        }
    }
}
