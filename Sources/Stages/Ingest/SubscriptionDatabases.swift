import CloudKitModel
import Events
import JSON
import PipelineKit

/// The databases in which each user has saved each subscription ID: saving an ID in another database of the container
/// moves the subscription there.
///
/// A 64-bit fingerprint stands for container, environment, user and subscription ID. Match deletes a subscription
/// with `firesOnce` at its first match, and ingest does not learn of this. So ingest may write a `subscription.delete`
/// for a subscription that no longer exists. The same can happen if two fingerprints collide. Such a delete has no
/// effect.
struct SubscriptionDatabases {
    /// A database from which a save moves a subscription.
    struct FormerDatabase {
        let database: DatabaseScope
        let firesOnce: Bool
    }

    /// By fingerprint: a bit for each database that has the subscription, in the order of ``scopes``. Then a bit for
    /// each database in which the subscription fires once.
    private var saved: [UInt64: UInt8] = [:]
    private var key: [UInt8] = []

    private static let scopes: [DatabaseScope] = [.public, .private, .shared]

    /// Records a checked `subscription.save`.
    ///
    /// - Returns: The other databases in which the user had a subscription with this ID.
    mutating func save(_ command: JSONValue) -> [FormerDatabase] {
        let new = Self.bit(of: command)
        let fingerprint = self.fingerprint(command, command[.subscription]?[.subscriptionID])
        guard let before = saved.updateValue(Self.bits(of: command), forKey: fingerprint) else { return [] }
        return Self.scopes.indices.filter { before & ~new & 1 << $0 != 0 }.map {
            FormerDatabase(database: Self.scopes[$0], firesOnce: before & 1 << ($0 + Self.scopes.count) != 0)
        }
    }

    /// Records a `subscription.save` of the log. If the subscription moved, the log has the delete before the save.
    mutating func recall(_ command: JSONValue) {
        let fingerprint = self.fingerprint(command, command[.subscription]?[.subscriptionID])
        saved[fingerprint] = saved[fingerprint, default: 0] & ~Self.allBits(of: command) | Self.bits(of: command)
    }

    /// Records a checked `subscription.delete`.
    mutating func delete(_ command: JSONValue) {
        let fingerprint = self.fingerprint(command, command[.subscriptionID])
        guard let before = saved[fingerprint] else { return }
        let remaining = before & ~Self.allBits(of: command)
        saved[fingerprint] = remaining == 0 ? nil : remaining
    }

    static func warning(moved subscriptionID: JSONValue?, from former: FormerDatabase) -> SavedSubscription.Warning {
        SavedSubscription.Warning(
            code: "subscription.moved", path: "subscription.subscriptionID",
            reason:
                "the user already had a subscription \"\(subscriptionID?.string ?? "")\" in the \(former.database.word) database"
                + (former.firesOnce ? ", where it fires once and may be gone already" : "")
                + "; an ID is unique for a user in a container, so ingest deletes the old subscription: to keep both, "
                + "give one of them another ID"
        )
    }

    private static func bits(of command: JSONValue) -> UInt8 {
        let firesOnce = command[.subscription]?[.firesOnce]?.bool ?? false
        return firesOnce ? allBits(of: command) : bit(of: command)
    }

    /// The two bits of the command's database: it has the subscription, and the subscription fires once there.
    private static func allBits(of command: JSONValue) -> UInt8 {
        bit(of: command) | bit(of: command) << scopes.count
    }

    /// Whether at least one database has the subscription, and no fires-once bit is set for a database without it.
    private static func isValid(_ bits: UInt8) -> Bool {
        let databases = bits & (1 << scopes.count - 1)
        return databases != 0 && bits >> scopes.count & ~databases == 0
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

extension SubscriptionDatabases {
    func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(all: saved.sorted { $0.key < $1.key }) { entry, snapshot in
            snapshot.write(entry.key)
            snapshot.write(UInt64(entry.value))
        }
    }

    mutating func read(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        let count = try snapshot.count(bytesEach: 2)
        saved.reserveCapacity(count)
        for _ in 0..<count {
            let (fingerprint, bits) = (try snapshot.number(), try snapshot.number())
            guard bits < 1 << UInt64(2 * Self.scopes.count), Self.isValid(UInt8(bits)),
                saved.updateValue(UInt8(bits), forKey: fingerprint) == nil
            else { throw snapshot.error("a subscription appears twice, or its databases are invalid") }
        }
    }
}
