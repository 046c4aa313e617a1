import RecordStore

/// How much a user may save through the gateway. The limits are Belfry's own, because CloudKit publishes none. With
/// them, the answer to a request for a list stays short.
///
/// A gateway counts what its own store has, and lets the requests of one user take turns. Gateways do not count the
/// items that other gateways are just saving, so requests at several gateways may together exceed a limit. Ingest does
/// not know these limits: other producers may save more.
enum UserLimits {
    /// The number of a user's subscriptions in one database.
    static let subscriptionsMax = 1_000
    /// The length of a subscription's JSON. All subscriptions together fit in one answer.
    static let subscriptionBytesMax = 16_000
    /// The number of zones in a user's private database, without the default zone.
    static let zonesMax = 1_000
    /// The number of a user's devices.
    static let devicesMax = 100
}

/// Counts the items of one kind that a user has, while the operations of a request save and delete items.
struct ItemCount<ID: Hashable & Sendable> {
    private var count: Int
    private var known: Set<ID>
    private let max: Int

    /// - Parameters:
    ///   - saved: What the user had before the request. If the request names an item that the user had, `known` must
    ///     contain it.
    ///   - max: How many items a user may have.
    init(_ saved: SavedItems<ID>, max: Int) { (count, known, self.max) = (saved.count, saved.known, max) }

    func has(_ id: ID) -> Bool { known.contains(id) }

    /// - Returns: False if the item is new and the user already has as many items as allowed.
    mutating func save(_ id: ID) -> Bool {
        guard !known.contains(id) else { return true }
        guard count < max else { return false }
        known.insert(id)
        count += 1
        return true
    }

    mutating func delete(_ id: ID) {
        if known.remove(id) != nil { count -= 1 }
    }
}

extension WebService {
    /// Runs `body` while no other request of the user saves items that count for a limit.
    func inTurn<Result>(
        of user: AccountID, _ body: () async throws(ServiceError) -> Result
    ) async throws(ServiceError) -> Result {
        try await turns.run(of: user, until: .now + settings.writeTimeout, body)
    }

    /// The errors of the operations that the gateway itself refuses, by the index of the operation.
    ///
    /// The store may be behind the log, and may lack a change that makes an operation valid, such as a delete. So the
    /// gateway refuses an operation only after its store has caught up.
    ///
    /// - Parameter find: Finds the errors with the present content of the store.
    func refusals(
        _ find: () throws(ServiceError) -> [Int: ServiceError]
    ) async throws(ServiceError) -> [Int: ServiceError] {
        guard !(try find().isEmpty) else { return [:] }
        try await waitForStore()
        return try find()
    }

    /// Sends the lines of a request, apart from those that the gateway itself refuses, and waits for their end.
    ///
    /// - Parameter refusals: The errors of the lines that are not sent, by the index of the line.
    /// - Returns: For each line its error; nil if the line is stored.
    func write(
        _ lines: [PendingLine], except refusals: [Int: ServiceError]
    ) async throws(ServiceError) -> [ServiceError?] {
        var errors = lines.indices.map { refusals[$0] }
        let sent = lines.indices.filter { refusals[$0] == nil }
        guard !sent.isEmpty else { return errors }
        let results = try await writes.write(sent.map { lines[$0] }, until: .now + settings.writeTimeout)
            .throwingIfAllUnknownOrNotSent()
        for (index, result) in zip(sent, results) {
            switch result {
            case .stored: continue
            case .refused(let refusal): errors[index] = ServiceError(refusal)
            case .unknown: errors[index] = .outcomeUnknown
            }
        }
        return errors
    }
}
