import EventLog
import Events
import JSON

/// Follows the registrations of devices in the log that pushes come from, so that a token is known before its first
/// push.
struct DeviceLog {
    let transport: String
    /// The log's identity, without dashes.
    let identity: String
    private let events: LogEvents

    /// - Parameter last: The device changes up to this event were already applied.
    /// - Returns: Nil if the log is not on this machine, or does not exist yet.
    init?(directory: String, transport: String, after last: Int64) throws(EventLogError) {
        guard try EventLogs.isLog(directory: directory) else { return nil }
        let log = try EventLogs.summary(directory: directory)
        self.transport = transport
        identity = log.identity.description.filter(\.isHexDigit)
        // A power failure may have cut the log back.
        let known = min(UInt64(last), log.lastSequence)
        events = try LogEvents(directory: directory, from: max(known + 1, log.firstSequence))
    }

    /// The last event that was read.
    var last: Int64 { Int64(events.last) }

    /// A call of ``readChanges()`` reads no further batch once it has read this many device changes.
    private static let changesPerRead = 10_000

    /// Reads the device changes since the previous call. If there are more than ``changesPerRead``, the call may read
    /// only the first part of them. The next call continues after the event ``last``.
    func readChanges() throws -> [DeviceChange] {
        var changes: [DeviceChange] = []
        while changes.count < Self.changesPerRead {
            let isMore = try events.readBatch(except: "{\"type\":\"push\"") { _, event, _ in
                if let change = DeviceChange(event) { changes.append(change) }
            }
            guard isMore else { break }
        }
        return changes
    }
}

/// The content of a `device.register` or `device.unregister` event.
struct DeviceChange {
    let account: Account
    let device: String
    /// Nil if the event unregisters the device.
    let address: (transport: String, token: String, topic: String?)?

    init?(_ event: JSONValue) {
        let isRegistration = event[.type]?.equals(EventName.deviceRegister) ?? false
        guard isRegistration || event[.type]?.equals(EventName.deviceUnregister) ?? false,
            let account = Account(event), let device = event[.device]?.string
        else { return nil }
        self.account = account
        self.device = device
        guard isRegistration else {
            address = nil
            return
        }
        guard let transport = event[.transport]?.string, let token = event[.token]?.string else { return nil }
        address = (transport, token, event[.topic]?.string)
    }

    /// Applies the change. A device loses its token here if it is unregistered, or if it registers with another
    /// transport or with a malformed token.
    func apply(to tables: InboxTables, transport: String) throws {
        if let address, address.transport == transport, let token = CourierToken(address.token) {
            try tables.register(token, topic: address.topic, device: device, of: account)
        } else {
            try tables.unregister(device: device, of: account)
        }
    }
}

extension Account {
    init?(_ event: JSONValue) {
        guard let container = event[.container]?.string, let environment = event[.environment]?.string,
            let user = event[.user]?.string
        else { return nil }
        self.init(container: container, environment: environment, user: user)
    }
}
