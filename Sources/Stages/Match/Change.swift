import Events
import JSON
import PipelineKit
import Time

enum Database: String {
    case `public`, `private`, shared

    /// For tables.
    var number: Int32 {
        switch self {
        case .public: 0
        case .private: 1
        case .shared: 2
        }
    }

    var word: StaticString {
        switch self {
        case .public: "public"
        case .private: "private"
        case .shared: "shared"
        }
    }

    init?(_ value: JSONValue) {
        if value.equals("public") {
            self = .public
        } else if value.equals("private") {
            self = .private
        } else if value.equals("shared") {
            self = .shared
        } else {
            return nil
        }
    }
}

/// What happened to a record; a set of these is what a subscription fires on.
struct Reason: OptionSet {
    let rawValue: UInt8

    static let create = Reason(rawValue: 1)
    static let update = Reason(rawValue: 2)
    static let delete = Reason(rawValue: 4)
    static let any: Reason = [.create, .update, .delete]

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init?(_ value: JSONValue) {
        if value.equals("create") {
            self = .create
        } else if value.equals("update") {
            self = .update
        } else if value.equals("delete") {
            self = .delete
        } else {
            return nil
        }
    }

    var word: StaticString { self == .create ? "create" : self == .update ? "update" : "delete" }
}

/// A checked `record.save` or `record.delete`; views into the event, which it cannot outlive.
struct Change: ~Escapable {
    let sequence: UInt64
    let reason: Reason
    let container: JSONValue
    let environment: JSONValue
    let database: Database
    /// Whose database it is; nil in the public one.
    let owner: JSONValue?
    let recordName: JSONValue
    /// nil for a delete of a record that was never seen.
    let recordType: JSONValue?
    let zone: Zone
    let origin: JSONValue?
    /// The record dictionary; a delete's says little more than the record's name.
    let record: JSONValue
    /// What predicates look at: the record's fields, or a deleted record's last known ones.
    let fields: JSONValue?
    /// Its recorded time.
    let now: Instant

    /// A record's zone; nil stands for the default zone and for its usual owner.
    struct Zone {
        let name: JSONValue?
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

    /// What an event has, found in one pass; nil for what is missing or null.
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
                // The lengths with quotes. A key with an escape is longer than it says by five: the shortest has twelve.
                switch unsafe key.raw.count {
                case 7 where key.equals(.owner): owner = owner ?? value
                case 8 where key.equals(.record): record = record ?? value
                case 8 where key.equals(.change): change = change ?? value
                case 8 where key.equals(.origin): origin = origin ?? value
                case 8 where key.equals(.before): before = before ?? value
                case 10 where key.equals(.database): database = database ?? value
                case 11 where key.equals(.container): container = container ?? value
                case 12 where key.equals(.recordType): recordType = recordType ?? value
                case 13 where key.equals(.environment): environment = environment ?? value
                case 12...: takeEscaped(key, value)
                default: break
                }
            }
        }

        private mutating func takeEscaped(_ key: JSONValue, _ value: JSONValue) {
            if key.equals(.owner) { owner = owner ?? value }
            if key.equals(.record) { record = record ?? value }
            if key.equals(.change) { change = change ?? value }
            if key.equals(.origin) { origin = origin ?? value }
            if key.equals(.before) { before = before ?? value }
            if key.equals(.database) { database = database ?? value }
            if key.equals(.container) { container = container ?? value }
            if key.equals(.recordType) { recordType = recordType ?? value }
            if key.equals(.environment) { environment = environment ?? value }
        }
    }

    /// The same of a record dictionary.
    private struct RecordMembers {
        private(set) var recordName: JSONValue?
        private(set) var recordType: JSONValue?
        private(set) var zoneID: JSONValue?
        private(set) var fields: JSONValue?

        @inline(__always)
        init(of record: JSONValue) {
            for (key, value) in record.members where !value.isNull {
                switch unsafe key.raw.count {
                case 8 where key.equals(.fields): fields = fields ?? value
                case 8 where key.equals(.zoneID): zoneID = zoneID ?? value
                case 12 where key.equals(.recordName): recordName = recordName ?? value
                case 12 where key.equals(.recordType): recordType = recordType ?? value
                case 13...: takeEscaped(key, value)
                default: break
                }
            }
        }

        private mutating func takeEscaped(_ key: JSONValue, _ value: JSONValue) {
            if key.equals(.fields) { fields = fields ?? value }
            if key.equals(.zoneID) { zoneID = zoneID ?? value }
            if key.equals(.recordName) { recordName = recordName ?? value }
            if key.equals(.recordType) { recordType = recordType ?? value }
        }
    }

    private static func saveReason(_ change: JSONValue?) throws(Rejection) -> Reason {
        guard let reason = Reason(try JSONValue.text(change, "change")), reason != .delete else {
            throw Rejection(
                code: "field.invalid", reason: "the change of a record.save is \"create\" or \"update\"", path: "change"
            )
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
}

extension Change {
    /// What `now()` means in a predicate that looks at it.
    var milliseconds: Int64 { now.microseconds / 1_000 }
}
