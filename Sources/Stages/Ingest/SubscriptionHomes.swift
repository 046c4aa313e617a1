import CloudKitModel
import JSON
import PipelineKit

/// In which databases each user's subscription IDs were saved: a save under an ID that the user has in another database
/// of the container moves the subscription.
///
/// Identities are kept as 64 bits each. Two that fall together, or one that match has deleted since because it fires
/// once, lead to a deletion of what is not there, which does nothing.
struct SubscriptionHomes {
    /// A bit for each of ``scopes``.
    private var homes: [UInt64: UInt8] = [:]
    private var key: [UInt8] = []

    private static let scopes: [DatabaseScope] = [.public, .private, .shared]

    /// Takes note of a checked `subscription.save`.
    ///
    /// - Returns: The other databases that the user had the ID in.
    mutating func save(_ command: JSONValue) -> [DatabaseScope] {
        let home = SubscriptionHomes.bit(of: command)
        let print = fingerprint(command, command["subscription"]?["subscriptionID"])
        guard let left = homes.updateValue(home, forKey: print), left & ~home != 0 else { return [] }
        return SubscriptionHomes.scopes.indices.filter { left & ~home & 1 << $0 != 0 }.map {
            SubscriptionHomes.scopes[$0]
        }
    }

    /// Takes note of a `subscription.save` in the log; where one was moved, its deletion stands before.
    mutating func recall(_ command: JSONValue) {
        let print = fingerprint(command, command["subscription"]?["subscriptionID"])
        homes[print, default: 0] |= SubscriptionHomes.bit(of: command)
    }

    /// Takes note of a checked `subscription.delete`.
    mutating func delete(_ command: JSONValue) {
        let print = fingerprint(command, command["subscriptionID"])
        guard let left = homes[print] else { return }
        let rest = left & ~SubscriptionHomes.bit(of: command)
        homes[print] = rest == 0 ? nil : rest
    }

    static func warning(moved subscriptionID: JSONValue?, from database: DatabaseScope) -> SavedSubscription.Warning {
        SavedSubscription.Warning(
            code: "subscription.moved", path: "subscription.subscriptionID",
            reason:
                "the user had \"\(subscriptionID?.string ?? "")\" in the \(database.word) database: an ID is unique for "
                + "its user in a container, so that one is deleted; to keep both, give one another ID")
    }

    private static func bit(of command: JSONValue) -> UInt8 {
        scopes.firstIndex { command["database"]?.equals($0.word) ?? false }.map { 1 << $0 } ?? 0
    }

    private mutating func fingerprint(_ command: JSONValue, _ subscriptionID: JSONValue?) -> UInt64 {
        key.removeAll(keepingCapacity: true)
        for name in [command["container"], command["environment"], command["user"], subscriptionID] {
            if let name { _ = name.withText { key.append(contentsOf: $0) } }
            key.append(0)
        }
        return Fingerprint.of(key)
    }
}

extension SubscriptionHomes {
    func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(all: homes.keys.sorted()) { print, snapshot in
            snapshot.write(print)
            snapshot.write(UInt64(homes[print] ?? 0))
        }
    }

    mutating func read(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        let count = try snapshot.count(bytesEach: 2)
        homes.reserveCapacity(count)
        for _ in 0..<count {
            let (print, bits) = (try snapshot.number(), try snapshot.number())
            guard (1..<1 << UInt64(Self.scopes.count)).contains(bits),
                homes.updateValue(UInt8(bits), forKey: print) == nil
            else { throw snapshot.error("a subscription is there twice, or in a database that there is not") }
        }
    }
}
