import CloudKitModel
import Events
import JSON
import RecordStore

/// `zones/modify`: zones to create and to delete.
struct ZonesModifyRequest: Sendable {
    struct Item: Sendable {
        let zone: ZoneKey
        let isDelete: Bool
        /// A line for ingest's door.
        let line: PendingLine
    }

    let items: [Item]

    /// - Parameter lineMaker: Makes the lines for ingest's door.
    init(_ body: JSONValue, _ lineMaker: LineMaker) throws(ServiceError) {
        items = try body.items(.operations) { operation throws(ServiceError) in
            let isDelete = try operation.isDelete(["create", "delete"])
            guard let zoneID = operation["zone"]?[.zoneID] else { throw .bad("zone.zoneID: is required") }
            try ServiceError.check { () throws(ModelError) in
                try under("zone") { () throws(ModelError) in
                    try under(.zoneID) { () throws(ModelError) in _ = try ZoneID(zoneID) }
                }
            }
            return Item(
                zone: ZoneKey(zoneID), isDelete: isDelete,
                line: lineMaker.make { $0.zone(zoneID, isDelete: isDelete) })
        }
    }
}

extension JSONValue {
    /// Reads each element of the array under `key`. The array must have 1 to 200 elements. An error names the element.
    func items<Item>(
        _ key: StaticString, _ read: (JSONValue) throws(ServiceError) -> Item
    ) throws(ServiceError) -> [Item] {
        let elements = try elements(key, atMost: ModifyRequest.operationsMax)
        guard !elements.isEmpty else { throw .bad("\(key): the list is empty; send at least one element") }
        var items: [Item] = []
        for (index, element) in elements.enumerated() {
            do throws(ServiceError) { items.append(try read(element)) } catch {
                throw ServiceError(error.code, "\(key)[\(index)].\(error.reason)")
            }
        }
        return items
    }

    /// Whether `operationType` is `delete`; it must be one of `words`.
    func isDelete(_ words: [String]) throws(ServiceError) -> Bool {
        guard let word = self[.operationType]?.string else { throw .bad("operationType: is required") }
        guard words.contains(word) else {
            throw .bad("operationType: '\(word.prefix(64))' is none of \(words.joined(separator: ", "))")
        }
        return word == "delete"
    }
}
