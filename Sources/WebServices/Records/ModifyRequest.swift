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
        let text: OperationText
        let recordName: String
        let zone: ZoneKey
        /// The fields of the record in the answer; nil for all fields.
        let desiredKeys: [String]?
        /// The targets of the `DELETE_SELF` references that the operation saves.
        let deleteTargets: [Key]
        /// The index of the line with this operation.
        let line: Int
        /// The operation's index in its line.
        let indexInLine: Int

        var operation: OperationType { text.type }
    }

    struct Key: Hashable {
        let zone: ZoneKey
        let recordName: String
    }

    let items: [Item]
    /// For each line, the indexes of its operations in ``items``. Ingest applies a line as a whole or not at all.
    let lines: [Range<Int>]
    let numbersAsStrings: Bool

    /// CloudKit Web Services Reference, "Data Size Limits": 200 operations.
    static let operationsMax = 200

    /// - Parameters:
    ///   - assets: Checks the assets in fields.
    ///   - newName: Makes a name for a record that the client has not named.
    init(
        _ body: JSONValue, _ assets: AssetValues, in database: DatabaseScope, newName: () -> String
    ) throws(ServiceError) {
        let operations = try body.elements(.operations, atMost: Self.operationsMax)
        guard !operations.isEmpty else { throw .bad("operations: the list is empty; send at least one operation") }
        let common = try CommonMembers(body)
        var (parsed, names): ([ParsedOperation], Set<Key>) = ([], [])
        for (index, operation) in operations.enumerated() {
            do throws(ServiceError) {
                let operation = try ParsedOperation(operation, common, assets, newName: newName)
                guard names.insert(operation.key).inserted else {
                    throw .bad("record.recordName: another operation of this request names the same record")
                }
                parsed.append(operation)
            } catch {
                throw ServiceError(error.code, "operations[\(index)].\(error.reason)")
            }
        }
        let zones = Set(parsed.map(\.key.zone))
        // The public database has no custom zones.
        let isAtomic = database == .public ? false : try common.isAtomic(in: zones)
        items = parsed.enumerated().map { $1.item(line: isAtomic ? 0 : $0, indexInLine: isAtomic ? $0 : 0) }
        lines = isAtomic ? [items.indices] : items.indices.map { $0..<$0 + 1 }
        numbersAsStrings = common.numbersAsStrings
    }
}

/// The members of a request that apply to all its operations.
private struct CommonMembers {
    let zoneID: JSONValue?
    /// Nil if the request has no `atomic`.
    private let atomic: Bool?
    let desiredKeys: [String]?
    let numbersAsStrings: Bool

    init(_ body: JSONValue) throws(ServiceError) {
        zoneID = body[.zoneID]
        _ = try body.zone
        atomic = try body.optionalFlag("atomic")
        desiredKeys = try body.optionalTexts("desiredKeys")
        numbersAsStrings = try body.optionalFlag("numbersAsStrings") ?? false
    }
}

extension CommonMembers {
    /// Whether ingest must apply all operations or none. The reference on `atomic`: "The default value is true. … only
    /// for custom zones."
    ///
    /// - Parameter zones: The zones of the operations.
    /// - Throws: `BAD_REQUEST` if the request wants to be atomic in several zones.
    func isAtomic(in zones: Set<ZoneKey>) throws(ServiceError) -> Bool {
        guard atomic ?? true, zones != [.defaultZone] else { return false }
        guard zones.count > 1 else { return true }
        guard atomic == nil else {
            throw .bad(
                "atomic: the operations are in \(zones.count) zones; send a request for each zone, or set atomic to "
                    + "false")
        }
        return false
    }
}

/// One operation of a request.
private struct ParsedOperation {
    private let recordName: String
    private let zone: ZoneKey
    private let desiredKeys: [String]?
    private let deleteTargets: [ModifyRequest.Key]
    private let text: OperationText

    init(
        _ json: JSONValue, _ common: CommonMembers, _ assets: AssetValues, newName: () -> String
    ) throws(ServiceError) {
        let operation = try ServiceError.check { () throws(ModelError) in
            let word = try json.required(.operationType)
            return try under(.operationType) { () throws(ModelError) in try OperationType(word) }
        }
        guard let record = json[.record], record.isObject else { throw .bad("record: expected an object") }
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
        text = try OperationText(operation, record, recordName, zoneID, assets)
        deleteTargets = operation.isDelete ? [] : ReferenceLimit.targets(of: record[.fields], in: self.zone)
    }

    /// Equal for two operations on the same record.
    var key: ModifyRequest.Key { ModifyRequest.Key(zone: zone, recordName: recordName) }

    func item(line: Int, indexInLine: Int) -> ModifyRequest.Item {
        ModifyRequest.Item(
            text: text, recordName: recordName, zone: zone, desiredKeys: desiredKeys, deleteTargets: deleteTargets,
            line: line, indexInLine: indexInLine)
    }
}
