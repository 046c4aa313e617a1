import CloudKitModel
import Events
import JSON

/// Checks the form of each operation of a `records.modify`, without regard to the existing records.
struct OperationCheck {
    let scope: DatabaseScope
    let owner: JSONValue?

    private static let keys: [Member] = [.operationType, .record]

    func callAsFunction(_ operations: JSONValue) throws(ModelError) {
        try operations.expectArray(.operations)
        let allowed = 1...CloudKitLimits.operationsMax
        guard allowed.contains(operations.count) else {
            throw ModelError(
                "operations.count",
                "a command has 1 to \(CloudKitLimits.operationsMax) operations, not \(operations.count): add one, or "
                    + "send the rest in a second command")
        }
        var index = 0
        for operation in operations.elements {
            try under(element: index) { () throws(ModelError) in try check(operation) }
            index += 1
        }
    }

    private func check(_ operation: JSONValue) throws(ModelError) {
        try operation.expectObject("an operation")
        try operation.expectKeys(OperationCheck.keys, of: "an operation")
        let word = try operation.required(.operationType)
        let type = try under(.operationType) { () throws(ModelError) in try OperationType(word) }
        let record = try operation.required(.record)
        try under(.record) { () throws(ModelError) in try check(record, type) }
    }

    private func check(_ json: JSONValue, _ type: OperationType) throws(ModelError) {
        let record = try Record(json, needsType: type.mayCreate, allowsNull: true)
        if let owner, let zone = record.zoneID {
            try under(.zoneID) { () throws(ModelError) in try zone.expectOwner(owner, in: scope) }
        }
        guard let tag = json[.recordChangeTag] else { return }
        try under(.recordChangeTag) { () throws(ModelError) in try tag.expectString("a change tag") }
    }
}
