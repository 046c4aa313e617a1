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

    private enum Operation: String, CaseIterable, Sendable { case create, delete }

    let items: [Item]

    /// - Parameter lineMaker: Makes the lines for ingest's door.
    init(_ body: JSONValue, _ lineMaker: LineMaker) throws(ServiceError) {
        items = try body.items(.operations) { json throws(ServiceError) in
            let operation: Operation = try json.operation()
            guard let zoneID = json["zone"]?[.zoneID] else { throw .bad("zone.zoneID: is required") }
            let zone = try ServiceError.check { () throws(ModelError) in
                try under("zone") { () throws(ModelError) in
                    try under(.zoneID) { () throws(ModelError) in try ZoneID(zoneID) }
                }
            }
            return Item(
                zone: ZoneKey(zoneID), isDelete: operation == .delete,
                line: lineMaker.make { $0.zone(zone, isDelete: operation == .delete) })
        }
    }
}

extension ZonesModifyRequest {
    /// The errors of the operations that the gateway refuses, by index. Ingest refuses operations on the default zone
    /// and on other users' zones.
    ///
    /// - Parameters:
    ///   - database: The user's private database.
    ///   - saved: The zones of the database.
    func refusals(in database: DatabaseID, _ saved: SavedItems<ZoneKey>) -> [Int: ServiceError] {
        var count = ItemCount(
            SavedItems(count: saved.count, known: Set(saved.known.compactMap { $0.stored(in: database) })),
            max: UserLimits.zonesMax)
        var refusals: [Int: ServiceError] = [:]
        for (index, item) in items.enumerated() {
            guard let zone = item.zone.stored(in: database), !zone.isDefault else { continue }
            if item.isDelete {
                count.delete(zone)
            } else if !count.save(zone) {
                refusals[index] = ServiceError(
                    .quotaExceeded,
                    "zone: a user may have at most \(UserLimits.zonesMax) zones; delete zones first")
            }
        }
        return refusals
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

    /// The value of `operationType`.
    func operation<Operation: CaseIterable & RawRepresentable<String>>() throws(ServiceError) -> Operation {
        guard let word = self[.operationType]?.string else { throw .bad("operationType: is required") }
        guard let operation = Operation(rawValue: word) else {
            let words = Operation.allCases.map(\.rawValue)
            throw .bad("operationType: '\(word.prefix(64))' is none of \(words.joined(separator: ", "))")
        }
        return operation
    }
}
