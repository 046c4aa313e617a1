import JSON
import PipelineKit

enum Database: String {
    case `public`, `private`, shared

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

/// A checked `record.save` or `record.delete`; views into the event, valid while it is received.
struct Change {
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

    /// A record's zone; nil stands for the default zone and for its usual owner.
    struct Zone {
        let name: JSONValue?
        let owner: JSONValue?
    }

    init(_ event: borrowing InputEvent, isDelete: Bool) throws(Rejection) {
        let json = event.json
        let record = try json.object("record")
        self.record = record
        sequence = event.sequence
        reason = try isDelete ? .delete : Change.saveReason(json)
        container = try json.text("container")
        environment = try json.text("environment")
        database = try json.database()
        owner = try database == .public ? nil : json.text("owner")
        recordName = try record.text("recordName", in: "record.")
        recordType = try Change.recordType(json, record, isDelete: isDelete)
        zone = try Change.zone(record)
        origin = json.given("origin")
        fields = isDelete ? json.given("before") : record.given("fields")
    }

    private static func saveReason(_ json: JSONValue) throws(Rejection) -> Reason {
        guard let reason = Reason(try json.text("change")), reason != .delete else {
            throw Rejection(
                code: "field.invalid", reason: "the change of a record.save is \"create\" or \"update\"", path: "change"
            )
        }
        return reason
    }

    private static func recordType(
        _ json: JSONValue, _ record: JSONValue, isDelete: Bool
    ) throws(Rejection) -> JSONValue? {
        guard isDelete else { return try record.text("recordType", in: "record.") }
        return [record.given("recordType"), json.given("recordType")].lazy.compactMap { $0 }.first { $0.isString }
    }

    private static func zone(_ record: JSONValue) throws(Rejection) -> Zone {
        guard let zoneID = record.given("zoneID") else { return Zone(name: nil, owner: nil) }
        let name = try zoneID.text("zoneName", in: "record.zoneID.")
        let owner = [zoneID.given("ownerRecordName"), zoneID.given("ownerName")].lazy.compactMap { $0 }.first {
            $0.isString && !$0.equals("__defaultOwner__")
        }
        return Zone(name: name, owner: owner)
    }
}
