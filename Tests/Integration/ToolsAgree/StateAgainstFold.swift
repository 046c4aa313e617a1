import BuiltIns
import Foundation
import PipelineKit
import Replay
import TestSupport
import Testing

/// Compares `belfry state` at a change with the records, subscriptions and devices that follow from the changes so far.
struct StateAgainstFold {
    private let run: LoggedRun
    private let states: PipelineState
    private let changes: [LoggedRun.Event]

    init(_ run: LoggedRun) throws {
        self.run = run
        states = PipelineState(
            try RecordedPipeline(run.file, logs: run.logs), MachineFactory(registry: .builtIns))
        changes = try run.events(of: run.log(.changes))
    }

    /// - Parameter count: The number of random changes at which states are compared. States at the end of the log are
    ///   always compared.
    func check(atRandomChanges count: Int, _ random: inout Seeded) throws {
        guard !changes.isEmpty else { return }
        for _ in 0..<count {
            let sequence = 1 + random.below(changes.count)
            try check(at: sequence, .sequence(UInt64(sequence)))
        }
        try check(at: changes.count, .end)
    }

    private func check(at sequence: Int, _ position: PipelinePosition) throws {
        var fold = ChangesFold()
        for change in changes.prefix(sequence) { fold.apply(change) }
        let matches = try run.events(of: run.log(.matches)).filter { $0.type == "match" }
        let matched = Set(matches.map { ChangesFold.subscriptionKey($0) + ChangesFold.app($0.json) })
        try check("records", fold.records, position) {
            [$0.text("database"), $0.text("owner"), ChangesFold.zone($0), $0.text("recordName")]
        }
        try check("devices", fold.devices, position) { [$0.text("user"), $0.text("device")] }
        let found = try identities(of: "subscriptions", position) { ChangesFold.subscriptionKey($0) }
        // A subscription with `firesOnce` ends with its first match. The fold does not know whether this match came
        // before or after the position, so the check accepts the subscription both in and not in the state.
        let once = fold.once.intersection(matched)
        #expect(found.union(once) == fold.subscriptions.union(once), "\(run.name): subscriptions at \(position)")
    }

    private func check(
        _ kind: String, _ expected: Set<[String]>, _ position: PipelinePosition,
        _ identity: (LoggedRun.Event) -> [String]
    ) throws {
        let found = try identities(of: kind, position, identity)
        #expect(found == expected, "\(run.name): \(kind) at \(position)")
    }

    private func identities(
        of kind: String, _ position: PipelinePosition, _ identity: (LoggedRun.Event) -> [String]
    ) throws -> Set<[String]> {
        let lines = try #require(try states.lines(kind, at: position)).split(separator: "\n")
        return try Set(
            lines.map { line in
                let json = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
                return identity(LoggedRun.Event(sequence: 0, json: json)) + ChangesFold.app(json)
            })
    }
}

/// The records, subscriptions and devices that exist after some events of the changes log.
private struct ChangesFold {
    private(set) var records: Set<[String]> = []
    private(set) var subscriptions: Set<[String]> = []
    /// Subscriptions with `firesOnce`.
    private(set) var once: Set<[String]> = []
    private var addresses: [[String]: [String]] = [:]

    var devices: Set<[String]> { Set(addresses.values) }

    mutating func apply(_ change: LoggedRun.Event) {
        let app = Self.app(change.json)
        switch change.type {
        case "record.save": records.insert(Self.record(change) + app)
        case "record.delete": records.remove(Self.record(change) + app)
        case "subscription.save":
            let subscriptionKey = Self.subscriptionKey(change) + app
            subscriptions.insert(subscriptionKey)
            let isOnce = (change.json["subscription"] as? [String: Any])?["firesOnce"] as? Bool ?? false
            if isOnce { once.insert(subscriptionKey) } else { once.remove(subscriptionKey) }
        case "subscription.delete": subscriptions.remove(Self.subscriptionKey(change) + app)
        case "device.register": register(change, app)
        case "device.unregister": remove([change.text("user"), change.text("device")] + app)
        default: return
        }
    }

    private mutating func register(_ change: LoggedRun.Event, _ app: [String]) {
        let device = [change.text("user"), change.text("device")] + app
        remove(device)
        addresses[[change.text("transport"), change.text("topic"), change.text("token").lowercased()] + app] = device
    }

    private mutating func remove(_ device: [String]) {
        for (address, holder) in addresses where holder == device { addresses[address] = nil }
    }

    static func app(_ json: [String: Any]) -> [String] {
        ["container", "environment"].map { json[$0] as? String ?? "" }
    }

    static func subscriptionKey(_ event: LoggedRun.Event) -> [String] {
        let id = (event.json["subscription"] as? [String: Any])?["subscriptionID"] ?? event.json["subscriptionID"]
        return [event.text("database"), event.text("user"), id as? String ?? ""]
    }

    static func zone(_ event: LoggedRun.Event) -> String {
        let record = event.json["record"] as? [String: Any] ?? event.json
        return (record["zoneID"] as? [String: Any])?["zoneName"] as? String ?? "_defaultZone"
    }

    private static func record(_ event: LoggedRun.Event) -> [String] {
        let name = (event.json["record"] as? [String: Any])?["recordName"] as? String ?? ""
        return [event.text("database"), event.text("owner"), zone(event), name]
    }
}
