import PipelineKit
import Time

/// All registered devices by user. No two devices have the same address.
struct DeviceRegistry {
    /// The most devices of one user. Every push is sent to all of them.
    static let devicesPerUserMax = 1000

    /// The transports of the pipeline.
    private let transports: Set<String>
    /// The devices of each user with at least one device, sorted by the bytes of their names.
    private(set) var byUser: [[UInt8]: [Device]] = [:]
    private var byAddress: [[UInt8]: Device] = [:]
    /// The apps of all present and former devices.
    var apps = Apps()

    init(transports: Set<String>) { self.transports = transports }

    var count: Int { byAddress.count }

    /// The devices of a user, sorted by the bytes of their names; nil if the user has no device.
    func devices(of user: [UInt8]) -> [Device]? { byUser[user] }

    func device(_ name: DeviceName) -> Device? { byUser[name.user]?.first { $0.isNamed(name.name) } }

    /// The present registration of the device; nil if the device is no longer registered.
    func current(_ device: Device) -> Device? { byUser[device.owner]?.first { $0.isNamed(device.name) } }

    /// Registers a device. The registration replaces the user's device of the same name, and the device with the same
    /// address.
    ///
    /// A token belongs to the last device that registered it, for example after a phone changed hands.
    mutating func register(_ registration: Registration, at time: Instant) throws(Rejection) {
        try checkRoom(for: registration.device)
        unregister(registration.device)
        if let former = byAddress[registration.address] { remove(former) }
        let device = device(registration, at: time)
        byAddress[device.address] = device
        byUser[device.owner, default: []].insert(device, byName: device.name)
    }

    /// Makes a device without registering it.
    mutating func device(_ registration: Registration, at time: Instant) -> Device {
        let app = apps.index(of: AppKey(transport: registration.transport, app: registration.app))
        return Device(
            registration, at: time, hasTransport: transports.contains(registration.transport), app: apps.keys[app].app,
            appIndex: app)
    }

    /// Removes a device, unless it was registered again or unregistered in the meantime.
    ///
    /// - Returns: Whether the device was removed.
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
            reason: "the user already has \(devices.count) devices, the maximum: unregister one", path: "device")
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
