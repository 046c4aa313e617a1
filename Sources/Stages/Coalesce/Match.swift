import CloudKitModel
import Events
import JSON
import PipelineKit

/// A parsed `match` event. Its members are views into the event.
struct Match: ~Escapable {
    /// The position of the match in the matches log.
    let sequence: UInt64
    /// The position of the match's change in the changes log.
    let change: UInt64
    let json: JSONValue
    let container: JSONValue
    let environment: JSONValue
    let database: JSONValue
    let user: JSONValue
    let subscriptionID: JSONValue
    let origin: JSONValue?
    let notificationInfo: JSONValue?
    let collapseID: JSONValue?

    /// - Parameter event: An object whose first member is its type.
    @_lifetime(copy event)
    init(_ event: JSONView, _ sequence: UInt64) throws(Rejection) {
        let json = event.value
        (self.json, self.sequence) = (json, sequence)
        guard let change = json[.change]?.int64, change > 0 else {
            throw Rejection(
                code: "match.change", reason: "change is not a sequence: it must be a whole number from 1",
                path: "change")
        }
        self.change = UInt64(change)
        container = try json.text(.container)
        environment = try json.text(.environment)
        database = try json.text(.database)
        user = try json.text(.user)
        subscriptionID = try json.text(.subscriptionID)
        origin = json[.origin]
        notificationInfo = try Match.notificationInfo(of: json)
        collapseID = try Match.collapseID(of: notificationInfo)
    }

    /// Whether a newer match may replace this match, because this match has a collapse ID or is silent.
    var isReplaceable: Bool { collapseID != nil || isSilent }

    var isSilent: Bool { NotificationVisibility.isSilent(notificationInfo) }

    private static func notificationInfo(of json: JSONValue) throws(Rejection) -> JSONValue? {
        guard let info = json[.notificationInfo], !info.isNull else { return nil }
        guard info.isObject else {
            throw Rejection(
                code: "match.notification_info", reason: "notificationInfo must be an object, not \(info.kindName)",
                path: "notificationInfo")
        }
        return info
    }

    private static func collapseID(of info: JSONValue?) throws(Rejection) -> JSONValue? {
        guard let collapseID = info?["collapseIDKey"], !collapseID.isUnset else { return nil }
        guard collapseID.isString else {
            throw Rejection(
                code: "match.collapse_id", reason: "the collapse ID is not a string",
                path: "notificationInfo.collapseIDKey")
        }
        return collapseID
    }
}

extension JSONValue {
    var namesTypeFirst: Bool {
        var members = members
        return members.next()?.key.equals(.type) ?? false
    }

    /// The text of the object with its type as the first member.
    var withTypeFirst: [UInt8] {
        var buffer = ByteBuffer(capacity: raw.count + 16)
        buffer.append("{\"type\":")
        if let type = self[.type] { buffer.append(type.raw) }
        for (key, value) in members where !key.equals(.type) {
            buffer.append(",")
            buffer.append(key.raw)
            buffer.append(":")
            buffer.append(value.raw)
        }
        buffer.append("}")
        return Array(buffer.bytes)
    }

    fileprivate func text(_ key: StaticString) throws(Rejection) -> JSONValue {
        guard let value = self[key], value.isString else {
            throw Rejection(code: "match.member", reason: "\(key) is missing, or is not a string", path: "\(key)")
        }
        return value
    }
}
