import CloudKitModel
import Events
import JSON
import RecordStore

/// `records/modify`: the operations of a request as lines for ingest's door.
///
/// CloudKit Web Services Reference, "Modifying Records (records/modify)".
struct ModifyRequest: Sendable {
    /// One operation, with the values that its answer needs.
    struct Item: Sendable {
        let operation: OperationType
        let recordName: String
        let zone: ZoneKey
        /// The fields of the record in the answer; nil for all fields.
        let desiredKeys: [String]?
        /// The index of the line with this operation.
        let line: Int
        /// The operation's index in its line.
        let indexInLine: Int
    }

    struct Key: Hashable {
        let zone: ZoneKey
        let recordName: String
    }

    let items: [Item]
    /// For each line, its operations as JSON, separated by commas. Ingest applies a line as a whole or not at all.
    let lines: [[UInt8]]
    let numbersAsStrings: Bool

    /// CloudKit Web Services Reference, "Data Size Limits": 200 operations.
    static let operationsMax = 200

    /// - Parameters:
    ///   - assets: Checks the assets in fields.
    ///   - newName: Makes a name for a record that the client has not named.
    init(_ body: JSONValue, _ assets: AssetValues, newName: () -> String) throws(ServiceError) {
        let operations = try body.elements(.operations, atMost: Self.operationsMax)
        guard !operations.isEmpty else { throw .bad("operations: the list is empty; send at least one operation") }
        let common = try CommonMembers(body)
        var (items, lines, names): ([Item], [[UInt8]], Set<Key>) = ([], [], [])
        for (index, operation) in operations.enumerated() {
            do throws(ServiceError) {
                let parsed = try ParsedOperation(operation, common, assets, newName: newName)
                guard names.insert(parsed.key).inserted else {
                    throw .bad("record.recordName: another operation of this request names the same record")
                }
                if common.isAtomic, !lines.isEmpty {
                    lines[0] += [UInt8(ascii: ",")] + parsed.text
                } else {
                    lines.append(parsed.text)
                }
                let line = lines.count - 1
                items.append(parsed.item(line: line, indexInLine: common.isAtomic ? items.count : 0))
            } catch {
                throw ServiceError(error.code, "operations[\(index)].\(error.reason)")
            }
        }
        (self.items, self.lines, numbersAsStrings) = (items, lines, common.numbersAsStrings)
    }
}

/// The members of a request that apply to all its operations.
private struct CommonMembers {
    let zoneID: JSONValue?
    let isAtomic: Bool
    let desiredKeys: [String]?
    let numbersAsStrings: Bool

    init(_ body: JSONValue) throws(ServiceError) {
        let zone = body[.zoneID]
        zoneID = zone
        let isCustom = try zone.map { zone throws(ServiceError) in
            try ServiceError.check { () throws(ModelError) in
                try under(.zoneID) { () throws(ModelError) in !(try ZoneID(zone)).isDefault }
            }
        }
        // The reference on `atomic`: "The default value is true. … only for custom zones."
        isAtomic = (try body.optionalFlag("atomic") ?? true) && (isCustom ?? false)
        desiredKeys = try body.optionalTexts("desiredKeys")
        numbersAsStrings = try body.optionalFlag("numbersAsStrings") ?? false
    }
}

/// One operation of a request.
private struct ParsedOperation {
    private let operation: OperationType
    private let recordName: String
    private let zone: ZoneKey
    private let desiredKeys: [String]?
    /// The operation in the form that ingest reads.
    let text: [UInt8]

    init(
        _ json: JSONValue, _ common: CommonMembers, _ assets: AssetValues, newName: () -> String
    ) throws(ServiceError) {
        let operation = try ServiceError.check { () throws(ModelError) in
            let word = try json.required(.operationType)
            return try under(.operationType) { () throws(ModelError) in try OperationType(word) }
        }
        guard let record = json[.record], record.isObject else { throw .bad("record: expected an object") }
        self.operation = operation
        let name = record[.recordName]
        guard name == nil || name?.isString == true else { throw .bad("record.recordName: expected a string") }
        guard name != nil || !operation.isDelete else {
            throw .bad("record.recordName: is missing; a delete must name its record")
        }
        recordName = name?.string ?? newName()
        guard !recordName.isEmpty else {
            throw .bad("record.recordName: is empty; give a name, or leave recordName out of a create")
        }
        let zone = record[.zoneID] ?? common.zoneID
        let zoneID = try zone.map { zone throws(ServiceError) in
            try ServiceError.check { () throws(ModelError) in
                try under("record.zoneID") { () throws(ModelError) in try ZoneID(zone) }
            }
        }
        self.zone = ZoneKey(zone)
        desiredKeys = try json.optionalTexts("desiredKeys") ?? common.desiredKeys
        text = try Self.text(operation, record, recordName, zoneID, assets)
    }

    /// Equal for two operations on the same record.
    var key: ModifyRequest.Key { ModifyRequest.Key(zone: zone, recordName: recordName) }

    func item(line: Int, indexInLine: Int) -> ModifyRequest.Item {
        ModifyRequest.Item(
            operation: operation, recordName: recordName, zone: zone, desiredKeys: desiredKeys, line: line,
            indexInLine: indexInLine)
    }

    /// The operation in the form that ingest reads: with the record's name, type, change tag, zone ID and fields. The
    /// record's other members, such as `created`, are left out. Members of the zone ID that the model does not know are
    /// left out too, because each operation of the request would repeat them.
    private static func text(
        _ operation: OperationType, _ record: JSONValue, _ recordName: String, _ zone: ZoneID?,
        _ assets: AssetValues
    ) throws(ServiceError) -> [UInt8] {
        var fields = ByteBuffer()
        if !operation.isDelete, let given = record[.fields] { try assets.append(given, to: &fields) }
        let json = ByteBuffer.object { json in
            json.append(.operationType, word: operation.word)
            json.append(member: .record)
            json.object { json in
                json.append(.recordName, recordName)
                json.append(.recordType, record[.recordType])
                json.append(.recordChangeTag, record[.recordChangeTag])
                if let zone {
                    json.append(member: .zoneID)
                    json.object { json in
                        json.append(.zoneName, zone.zoneName)
                        json.append(.ownerRecordName, zone.owner)
                    }
                }
                if !fields.isEmpty {
                    json.append(member: .fields)
                    json.append(fields.bytes)
                }
            }
        }
        return Array(json.bytes)
    }
}
