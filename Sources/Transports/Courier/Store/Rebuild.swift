import EventLog
import Events
import Foundation
import GRDB
import JSON
import Time

/// Rebuilds the tables from the logs. The log of pushes has the registrations and the pushes; the log of outcomes says
/// which pushes were accepted. Pushes with another outcome are left out. So are pushes without an outcome, because the
/// stage sends them again. Marks are applied afterwards.
struct Rebuild {
    let tables: InboxTables
    let transport: String
    /// Older pushes are left out.
    let oldest: Instant

    /// - Returns: The last event of the log of pushes.
    func run(pushes: String, outcomes: String?) throws -> Int64 {
        let last = try addPushes(fromLogIn: pushes)
        if let outcomes { try applyOutcomes(fromLogIn: outcomes) }
        try tables.run("DELETE FROM deliveries WHERE apnsID IS NULL")
        try tables.run("DELETE FROM notifications WHERE push NOT IN (SELECT push FROM deliveries)")
        // The deletion above has raised the floors, but the stage may send the deleted pushes again.
        try tables.run("UPDATE accounts SET floor = 0")
        return last
    }

    private func addPushes(fromLogIn directory: String) throws -> Int64 {
        let log = try EventLogs.summary(directory: directory)
        let events = try LogEvents(directory: directory, from: log.firstSequence)
        try events.read { sequence, event, time in
            if event[.type]?.equals(EventName.push) == true {
                if time >= oldest { try add(event, push: Int64(sequence), time) }
            } else if event[.type]?.equals(EventName.pushRedrive) == true, let push = event[.push] {
                if time >= oldest { try add(push, only: event[.device]?.string, push: Int64(sequence), time) }
            } else {
                try DeviceChange(event)?.apply(to: tables, transport: transport)
            }
        }
        return Int64(events.last)
    }

    /// - Parameter name: The name of the device that a redrive is for; nil for all devices of the user.
    private func add(_ event: JSONValue, only name: String? = nil, push: Int64, _ time: Instant) throws {
        guard let owner = Account(event), let id = event[.notificationID]?.string, let payload = event[.payload]
        else {
            return
        }
        let account = try tables.account(owner)
        var body: Data?
        for device in try tables.devices(of: account, named: name) {
            let own = Data(device.topic.flatMap { event[.payloadByTopic]?.member($0)?.raw } ?? payload.raw)
            let whole = body ?? event[.unpruned].map { Data($0.raw) } ?? own
            if body == nil {
                let expiration = Expiration(headers: event[.headers])
                try tables.add(push: push, id: id, body: whole, to: account, time: time, expiration)
            }
            body = whole
            try tables.add(push: push, to: device.id, apnsID: nil, payload: own == whole ? nil : own)
        }
    }

    private func applyOutcomes(fromLogIn directory: String) throws {
        guard try EventLogs.isLog(directory: directory) else { return }
        let log = try EventLogs.summary(directory: directory)
        try LogEvents(directory: directory, from: log.firstSequence).read { _, event, time in
            guard event[.outcome]?.equals("accepted") == true, let push = event[.push]?.int64,
                let device = event[.device]?.string, let apnsID = event[.apnsID]?.string
            else { return }
            try tables.accept(apnsID: apnsID, push: push, device: device)
        }
    }
}

extension InboxTables {
    /// The devices with a token, in the order of their names' bytes.
    ///
    /// - Parameter name: The name of the only device to return; nil for all devices.
    fileprivate func devices(of account: Int64, named name: String?) throws -> [(id: Int64, topic: String?)] {
        let condition = name == nil ? "" : " AND name = ?"
        return try rows(
            "SELECT id, topic FROM devices WHERE account = ? AND token IS NOT NULL\(condition) ORDER BY name",
            name.map { [account, $0] } ?? [account]
        ).map { ($0[0], $0[1]) }
    }

    fileprivate func accept(apnsID: String, push: Int64, device: String) throws {
        try run(
            """
            UPDATE deliveries SET apnsID = ? WHERE push = ? AND device =
                (SELECT d.id FROM devices d JOIN notifications n USING (account) WHERE n.push = ? AND d.name = ?)
            """, [apnsID, push, push, device])
    }
}
