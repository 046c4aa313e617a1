import Events
import JSON
import PipelineKit
import Predicates
import Time

enum Database: Int32 {
    case `public`, `private`, shared

    var word: StaticString {
        switch self {
        case .public: "public"
        case .private: "private"
        case .shared: "shared"
        }
    }

    init?(_ value: JSONValue) {
        switch value {
        case "public": self = .public
        case "private": self = .private
        case "shared": self = .shared
        default: return nil
        }
    }
}

/// What happened to a record. A query subscription names the reasons on which it fires. Subscriptions to a zone or a
/// database fire on any reason.
struct Reason: OptionSet {
    let rawValue: UInt8

    static let create = Reason(rawValue: 1)
    static let update = Reason(rawValue: 2)
    static let delete = Reason(rawValue: 4)
    static let any: Reason = [.create, .update, .delete]

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init?(_ value: JSONValue) {
        switch value {
        case "create": self = .create
        case "update": self = .update
        case "delete": self = .delete
        default: return nil
        }
    }

    var word: StaticString { self == .create ? "create" : self == .update ? "update" : "delete" }
}

/// A parsed `record.save` or `record.delete`. Its members are views into the event.
struct Change: ~Escapable {
    let sequence: UInt64
    let reason: Reason
    let container: JSONValue
    let environment: JSONValue
    let database: Database
    /// The owner of the database; nil for the public database.
    let owner: JSONValue?
    let recordName: JSONValue
    /// Nil if the change deletes a record of unknown type.
    let recordType: JSONValue?
    let zone: Zone
    let origin: JSONValue?
    /// The record dictionary. In a delete it contains little more than the record's name.
    let record: JSONValue
    /// The fields that predicates see: the fields of the record, or the last known fields of a deleted record.
    let fields: JSONValue?
    /// The recorded time of the change.
    let now: Instant

    /// A record's zone.
    struct Zone {
        /// Nil if the event names no zone. The record is then in the default zone.
        let name: JSONValue?
        /// Nil if the owner is missing or is `__defaultOwner__`.
        let owner: JSONValue?
    }

    @_lifetime(copy event)
    init(_ event: borrowing InputEvent, isDelete: Bool, at now: Instant) throws(Rejection) {
        let members = Members(of: event.value)
        let record = try JSONValue.object(members.record, "record")
        let parts = RecordMembers(of: record)
        (self.record, self.now) = (record, now)
        sequence = event.sequence
        reason = try isDelete ? .delete : Change.saveReason(members.change)
        container = try JSONValue.text(members.container, "container")
        environment = try JSONValue.text(members.environment, "environment")
        database = try JSONValue.database(members.database)
        owner = try database == .public ? nil : JSONValue.text(members.owner, "owner")
        recordName = try JSONValue.text(parts.recordName, "recordName", in: "record.")
        recordType = try Change.recordType(members.recordType, parts.recordType, isDelete: isDelete)
        zone = try Change.zone(parts.zoneID)
        origin = members.origin
        fields = isDelete ? members.before : parts.fields
    }

    /// The members of an event, found in one pass. A member that is missing or null is nil.
    private struct Members {
        private(set) var container: JSONValue?
        private(set) var environment: JSONValue?
        private(set) var database: JSONValue?
        private(set) var owner: JSONValue?
        private(set) var origin: JSONValue?
        private(set) var change: JSONValue?
        private(set) var record: JSONValue?
        private(set) var before: JSONValue?
        private(set) var recordType: JSONValue?

        @inline(__always)
        init(of event: JSONValue) {
            for (key, value) in event.members where !value.isNull {
                if let name = unsafe key.plain { unsafe set(name, value) } else { setEscaped(key, value) }
            }
        }

        @inline(never)
        private mutating func setEscaped(_ key: JSONValue, _ value: JSONValue) {
            unsafe key.withUTF8 { unsafe set($0, value) }
        }

        @inline(__always)
        private mutating func set(_ name: UnsafeRawBufferPointer, _ value: JSONValue) {
            switch name.count {
            case 5 where unsafe name.isSame(as: .owner): owner = owner ?? value
            case 6 where unsafe name.isSame(as: .record): record = record ?? value
            case 6 where unsafe name.isSame(as: .change): change = change ?? value
            case 6 where unsafe name.isSame(as: .origin): origin = origin ?? value
            case 6 where unsafe name.isSame(as: .before): before = before ?? value
            case 8 where unsafe name.isSame(as: .database): database = database ?? value
            case 9 where unsafe name.isSame(as: .container): container = container ?? value
            case 10 where unsafe name.isSame(as: .recordType): recordType = recordType ?? value
            case 11 where unsafe name.isSame(as: .environment): environment = environment ?? value
            default: break
            }
        }
    }

    /// The members of a record dictionary, found in one pass. A member that is missing or null is nil.
    private struct RecordMembers {
        private(set) var recordName: JSONValue?
        private(set) var recordType: JSONValue?
        private(set) var zoneID: JSONValue?
        private(set) var fields: JSONValue?

        @inline(__always)
        init(of record: JSONValue) {
            for (key, value) in record.members where !value.isNull {
                if let name = unsafe key.plain { unsafe set(name, value) } else { setEscaped(key, value) }
            }
        }

        @inline(never)
        private mutating func setEscaped(_ key: JSONValue, _ value: JSONValue) {
            unsafe key.withUTF8 { unsafe set($0, value) }
        }

        @inline(__always)
        private mutating func set(_ name: UnsafeRawBufferPointer, _ value: JSONValue) {
            switch name.count {
            case 6 where unsafe name.isSame(as: .fields): fields = fields ?? value
            case 6 where unsafe name.isSame(as: .zoneID): zoneID = zoneID ?? value
            case 10 where unsafe name.isSame(as: .recordName): recordName = recordName ?? value
            case 10 where unsafe name.isSame(as: .recordType): recordType = recordType ?? value
            default: break
            }
        }
    }

    private static func saveReason(_ change: JSONValue?) throws(Rejection) -> Reason {
        let word = try JSONValue.text(change, "change")
        guard let reason = Reason(word), reason != .delete else {
            throw Rejection(
                code: "field.invalid",
                reason: "the change of a record.save must be \"create\" or \"update\", not \"\(word.printable)\"",
                path: "change")
        }
        return reason
    }

    private static func recordType(
        _ outer: JSONValue?, _ inner: JSONValue?, isDelete: Bool
    ) throws(Rejection) -> JSONValue? {
        guard isDelete else { return try JSONValue.text(inner, "recordType", in: "record.") }
        if let inner, inner.isString { return inner }
        return outer.flatMap { $0.isString ? $0 : nil }
    }

    private static func zone(_ zoneID: JSONValue?) throws(Rejection) -> Zone {
        guard let zoneID else { return Zone(name: nil, owner: nil) }
        let name = try zoneID.text(.zoneName, in: "record.zoneID.")
        return Zone(name: name, owner: owner(zoneID.given(.ownerRecordName)) ?? owner(zoneID.given("ownerName")))
    }

    @inline(__always)
    private static func owner(_ name: JSONValue?) -> JSONValue? {
        guard let name, name.isString, !name.equals("__defaultOwner__") else { return nil }
        return name
    }

    /// Who saved the record, and when; nil if the change deletes the record. If the origin names no user, the record
    /// counts as saved by the owner of the database; in the public database, the user is then unknown. The gateway's
    /// record store uses the same rule.
    var save: RecordSave? {
        guard reason != .delete else { return nil }
        return RecordSave(user: origin?[.user] ?? owner, milliseconds: milliseconds, isCreate: reason == .create)
    }

    /// The value of `now()` in predicates, in milliseconds since 1970.
    var milliseconds: Int64 { now.microseconds / 1_000 }
}
