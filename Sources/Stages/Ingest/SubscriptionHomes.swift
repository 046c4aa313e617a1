import CloudKitModel
import Events
import JSON
import PipelineKit

/// In which databases each user's subscription IDs were saved: a save under an ID that the user has in another database
/// of the container moves the subscription.
///
/// Identities are kept as 64 bits each. Two that fall together, or one that match has deleted since because it fires
/// once, lead to a deletion of what is not there, which does nothing. Whether one has fired, only match knows.
struct SubscriptionHomes {
    /// A place that a subscription leaves.
    struct Left {
        let database: DatabaseScope
        let firesOnce: Bool
    }

    /// A bit for each of ``scopes``, and above them one for each in which the subscription fires once.
    private var homes: [UInt64: UInt8] = [:]
    private var key: [UInt8] = []

    private static let scopes: [DatabaseScope] = [.public, .private, .shared]

    /// Takes note of a checked `subscription.save`.
    ///
    /// - Returns: The other databases that the user had the ID in.
    mutating func save(_ command: JSONValue) -> [Left] {
        let home = SubscriptionHomes.bit(of: command)
        let print = fingerprint(command, command[.subscription]?[.subscriptionID])
        guard let left = homes.updateValue(SubscriptionHomes.bits(of: command), forKey: print) else { return [] }
        return SubscriptionHomes.scopes.indices.filter { left & ~home & 1 << $0 != 0 }.map {
            Left(
                database: SubscriptionHomes.scopes[$0],
                firesOnce: left & 1 << ($0 + SubscriptionHomes.scopes.count) != 0)
        }
    }

    /// Takes note of a `subscription.save` in the log; where one was moved, its deletion stands before.
    mutating func recall(_ command: JSONValue) {
        let print = fingerprint(command, command[.subscription]?[.subscriptionID])
        let others = homes[print, default: 0] & ~SubscriptionHomes.allBits(of: command)
        homes[print] = others | SubscriptionHomes.bits(of: command)
    }

    /// Takes note of a checked `subscription.delete`.
    mutating func delete(_ command: JSONValue) {
        let print = fingerprint(command, command[.subscriptionID])
        guard let left = homes[print] else { return }
        let rest = left & ~SubscriptionHomes.allBits(of: command)
        homes[print] = rest == 0 ? nil : rest
    }

    static func warning(moved subscriptionID: JSONValue?, from left: Left) -> SavedSubscription.Warning {
        SavedSubscription.Warning(
            code: "subscription.moved", path: "subscription.subscriptionID",
            reason:
                "the user had \"\(subscriptionID?.string ?? "")\" in the \(left.database.word) database"
                + (left.firesOnce ? ", where it fires once and may be gone already" : "")
                + ": an ID is unique for its user in a container, so that one is deleted; to keep both, give one another ID"
        )
    }

    private static func bits(of command: JSONValue) -> UInt8 {
        let firesOnce = command[.subscription]?[.firesOnce]?.bool ?? false
        return firesOnce ? allBits(of: command) : bit(of: command)
    }

    /// The database's bit and the one above it.
    private static func allBits(of command: JSONValue) -> UInt8 {
        bit(of: command) | bit(of: command) << scopes.count
    }

    /// Whether there is a place, and each that fires once is one.
    private static func isInOrder(_ bits: UInt8) -> Bool {
        let places = bits & (1 << scopes.count - 1)
        return places != 0 && bits >> scopes.count & ~places == 0
    }

    private static func bit(of command: JSONValue) -> UInt8 {
        scopes.firstIndex { command[.database]?.equals($0.word) ?? false }.map { 1 << $0 } ?? 0
    }

    private mutating func fingerprint(_ command: JSONValue, _ subscriptionID: JSONValue?) -> UInt64 {
        key.removeAll(keepingCapacity: true)
        for name in [command[.container], command[.environment], command[.user], subscriptionID] {
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
            guard bits < 1 << UInt64(2 * Self.scopes.count), Self.isInOrder(UInt8(bits)),
                homes.updateValue(UInt8(bits), forKey: print) == nil
            else { throw snapshot.error("a subscription is there twice, or in a database that there is not") }
        }
    }
}
