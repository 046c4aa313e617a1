import CloudKitModel
import Events
import JSON
import RecordStore

/// An operation in the form that ingest reads: with the record's name, type, change tag, zone ID, parent and
/// fields. Other members that the client sends, such as `created` and `share`, are left out. Members of the zone ID
/// that the model does not know are left out too. A request may have one zone ID for all its operations, and each
/// operation gets a copy of it, so such members could make the lines very long.
struct OperationText: Sendable {
    let type: OperationType
    /// The change tag as JSON; nil if the client gave none.
    private let changeTag: String?
    /// The members of the record except the change tag, separated by commas.
    private let members: [UInt8]

    init(
        _ type: OperationType, _ record: JSONValue, _ recordName: String, _ zone: ZoneID?, _ assets: AssetValues
    ) throws(ServiceError) {
        self.type = type
        var fields = ByteBuffer()
        if !type.isDelete, let given = record[.fields] { try assets.append(given, to: &fields) }
        let parent = type.isDelete ? nil : try Self.parent(of: record)
        changeTag = record[.recordChangeTag].map { String(decoding: $0.raw, as: UTF8.self) }
        let json = ByteBuffer.object { json in
            json.append(.recordName, recordName)
            json.append(.recordType, record[.recordType])
            json.append(zone)
            json.append(Self.parentMember, raw: parent)
            if !fields.isEmpty {
                json.append(member: .fields)
                json.append(fields.bytes)
            }
        }
        members = Array(json.bytes.dropFirst().dropLast())
    }

    private static let parentMember: StaticString = "parent"

    /// The record's parent as JSON: a reference without its action, or `null`, which removes the parent. Nil if the
    /// record has no member `parent`.
    private static func parent(of record: JSONValue) throws(ServiceError) -> String? {
        guard let parent = record[parentMember] else { return nil }
        guard !parent.isNull else { return "null" }
        guard parent.isObject else { throw .bad("record.parent: expected an object with recordName") }
        let zone = try ServiceError.check { () throws(ModelError) in
            try under("record.parent") { () throws(ModelError) in
                try Reference.checkTarget(of: parent)
                return try parent[.zoneID].map { zone throws(ModelError) in try ZoneID(zone) }
            }
        }
        return ByteBuffer.object { json in
            json.append(.recordName, parent[.recordName])
            json.append(zone)
        }.text
    }

    /// What the gateway found at the address of an operation on a public record.
    enum Found {
        case noRecord
        case record(ChangeTag, created: RecordStamp)
    }

    /// Whether the operation is made without regard to the record that exists.
    var isForced: Bool { [.forceUpdate, .forceReplace, .forceDelete].contains(type) }

    /// Appends the operation.
    ///
    /// - Parameter found: What the gateway found at the address. A forced operation is then appended as one that is not
    ///   forced, so ingest refuses it if something else is at the address by then. If a record was found, its `created`
    ///   (who created it, and when) is added to the operation, because the queries of subscriptions may compare it. Nil
    ///   leaves the operation as the client wrote it.
    func append(to json: inout ByteBuffer, after found: Found?) {
        var (type, changeTag) = (type, changeTag)
        if isForced {
            switch found {
            case .noRecord: type = .create
            case .record(let tag, _): (type, changeTag) = (type.unforced, "\"\(tag.text)\"")
            case nil: break
            }
        }
        json.object { json in
            json.append(.operationType, word: type.word)
            json.append(member: .record)
            json.object { json in
                json.append(.recordChangeTag, raw: changeTag)
                json.appendSeparator()
                members.withUnsafeBytes { json.append($0) }
                if case .record(_, let created) = found { created.append(to: &json, as: RecordStamp.created) }
            }
        }
    }
}

extension OperationType {
    /// For a forced operation, the operation that has the same effect but needs the record's change tag.
    fileprivate var unforced: OperationType {
        switch self {
        case .forceUpdate: .update
        case .forceReplace: .replace
        case .forceDelete: .delete
        case .create, .update, .replace, .delete: self
        }
    }
}
