import PipelineKit
import Time

/// All devices by user, and the rule that an address leads to one device only.
struct DeviceRegistry {
    /// More are no user's own: every push would have to be sent to all of them.
    static let devicesPerUserMax = 1000

    /// What the pipeline sets up.
    private let transports: Set<String>
    /// Never empty lists, each in the order of the names' bytes.
    private(set) var byUser: [[UInt8]: [Device]] = [:]
    private var byAddress: [[UInt8]: Device] = [:]
    /// The apps of all devices that ever were.
    var apps = Apps()

    init(transports: Set<String>) { self.transports = transports }

    /// Whether it remembers nothing at all.
    var isEmpty: Bool { byUser.isEmpty && byAddress.isEmpty }

    /// Number of devices.
    var count: Int { byAddress.count }

    /// In the order of the names' bytes; nil where there is none.
    func devices(of user: [UInt8]) -> [Device]? { byUser[user] }

    func device(_ name: DeviceName) -> Device? { byUser[name.user]?.first { $0.isNamed(name.name) } }

    /// What the device has registered by now; nil where it has not, or not any more.
    func current(_ device: Device) -> Device? { byUser[device.owner]?.first { $0.isNamed(device.name) } }

    /// Replaces the device of that name, and whichever device had the address before: a token belongs to who
    /// registered it last, as when a phone is handed on or an app is installed anew.
    mutating func register(_ registration: Registration, at time: Instant) throws(Rejection) {
        try checkRoom(for: registration.device)
        unregister(registration.device)
        if let former = byAddress[registration.address] { remove(former) }
        let device = device(registration, at: time)
        byAddress[device.address] = device
        byUser[device.owner, default: []].insert(device, byName: device.name)
    }

    /// A device that need not be registered any more.
    mutating func device(_ registration: Registration, at time: Instant) -> Device {
        let app = apps.index(of: AppKey(transport: registration.transport, app: registration.app))
        return Device(
            registration, at: time, hasTransport: transports.contains(registration.transport), app: apps.keys[app].app,
            appIndex: app)
    }

    /// Takes a device out, unless it was registered again or unregistered since.
    ///
    /// - Returns: Whether it was there.
    mutating func retire(_ device: Device) -> Bool {
        guard let registered = byAddress[device.address], registered.isSame(as: device) else { return false }
        remove(registered)
        return true
    }

    mutating func unregister(_ device: DeviceName) {
        if let registered = self.device(device) { remove(registered) }
    }

    private func checkRoom(for device: DeviceName) throws(Rejection) {
        guard let devices = byUser[device.user], devices.count >= Self.devicesPerUserMax,
            !devices.contains(where: { $0.isNamed(device.name) })
        else { return }
        throw Rejection(
            code: "device.too_many",
            reason: "the user has \(devices.count) devices, the most there may be: unregister one", path: "device")
    }

    private mutating func remove(_ device: Device) {
        byAddress[device.address] = nil
        byUser[device.owner]?.removeAll { $0 === device }
        if byUser[device.owner]?.isEmpty == true { byUser[device.owner] = nil }
    }
}

extension [Device] {
    fileprivate mutating func insert(_ device: Device, byName name: String) {
        let index = firstIndex { name.utf8.lexicographicallyPrecedes($0.name.utf8) } ?? endIndex
        insert(device, at: index)
    }
}
