import PipelineKit
import Time

/// All registered devices by user. No two devices have the same address.
struct DeviceRegistry {
    /// The most devices of one user. One push may go to all of them.
    static let devicesPerUserMax = 1000

    /// The transports of the pipeline.
    private let transports: Set<String>
    /// The devices of each user with at least one device.
    private(set) var byUser: Set<UserDevices> = []
    private var byAddress: Set<AddressedDevice> = []
    /// The apps of all current and former devices.
    var apps = Apps()
    /// What the devices of each app share, by the app's index in ``apps``.
    private var registeredApps: [Int: RegisteredApp] = [:]

    init(transports: Set<String>) { self.transports = transports }

    var count: Int { byAddress.count }

    /// The devices of a user, sorted by the bytes of their names; nil if the user has no device.
    func devices(of user: [UInt8]) -> UserDevices? {
        byUser.firstIndex(of: .wanted(key: user)).map { byUser[$0] }
    }

    func device(_ name: DeviceName) -> Device? { devices(of: name.user)?.first { $0.isNamed(name.name) } }

    /// The current registration of the device; nil if the device is no longer registered.
    func current(_ device: Device) -> Device? {
        let name = device.name
        return byUser.firstIndex(of: .one(device)).flatMap { byUser[$0].first { $0.isNamed(name) } }
    }

    /// Registers a device. The registration replaces the user's device of the same name, and the device with the same
    /// address.
    ///
    /// A token belongs to the last device that registered it, for example after a phone changed hands.
    ///
    /// - Returns: True if the pipeline does not have the device's transport, and this is the app's first registration
    ///   with that transport.
    @discardableResult
    mutating func register(_ registration: Registration, at time: Instant) throws(Rejection) -> Bool {
        try checkRoom(for: registration.device)
        unregister(registration.device)
        let knownApps = registeredApps.count
        let device = device(registration, at: time)
        if let former = byAddress.update(with: AddressedDevice(device: device)) { removeFromUser(former.device) }
        byUser.update(with: (byUser.remove(.one(device)) ?? .several([])).inserting(device))
        return !device.hasTransport && registeredApps.count > knownApps
    }

    /// Makes a device without registering it.
    mutating func device(_ registration: Registration, at time: Instant) -> Device {
        Device(registration, at: time, registeredApp(AppKey(transport: registration.transport, app: registration.app)))
    }

    private mutating func registeredApp(_ key: AppKey) -> RegisteredApp {
        let index = apps.index(of: key)
        if let known = registeredApps[index] { return known }
        let app = RegisteredApp(key, index: index, hasTransport: transports.contains(key.transport))
        registeredApps[index] = app
        return app
    }

    /// Removes a device, unless it was registered again or unregistered in the meantime.
    ///
    /// - Returns: Whether the device was removed.
    mutating func retire(_ device: Device) -> Bool {
        guard let index = byAddress.firstIndex(of: AddressedDevice(device: device)),
            byAddress[index].device.isSame(as: device)
        else { return false }
        remove(byAddress[index].device)
        return true
    }

    mutating func unregister(_ device: DeviceName) {
        if let registered = self.device(device) { remove(registered) }
    }

    private func checkRoom(for device: DeviceName) throws(Rejection) {
        guard let devices = devices(of: device.user), devices.count >= Self.devicesPerUserMax,
            !devices.contains(where: { $0.isNamed(device.name) })
        else { return }
        throw Rejection(
            code: "device.too_many",
            reason: "the user already has \(devices.count) devices, the maximum: unregister one", path: "device")
    }

    private mutating func remove(_ device: Device) {
        byAddress.remove(AddressedDevice(device: device))
        removeFromUser(device)
    }

    private mutating func removeFromUser(_ device: Device) {
        if let left = byUser.remove(.one(device))?.removing(device) { byUser.update(with: left) }
    }
}

/// A registered device. Two values are equal if their devices have the same address.
private struct AddressedDevice: Hashable {
    let device: Device

    static func == (left: Self, right: Self) -> Bool { left.device.hasSameAddress(as: right.device) }

    func hash(into hasher: inout Hasher) { device.hashAddress(into: &hasher) }
}

/// The devices of one user, sorted by the bytes of their names. Two values are equal if they are of the same user.
///
/// The value has the size of a reference. A user with one device needs no array.
enum UserDevices: Hashable, RandomAccessCollection {
    case one(Device)
    /// Any number of devices. Empty for a user without devices; ``DeviceRegistry`` does not store an empty value.
    case several([Device])
    /// Not devices, but the key of the user whose devices are looked for; see ``Device/owner``.
    case wanted(key: [UInt8])

    var startIndex: Int { 0 }

    var endIndex: Int {
        switch self {
        case .one: 1
        case .several(let devices): devices.count
        case .wanted: 0
        }
    }

    subscript(index: Int) -> Device {
        switch self {
        case .one(let device): device
        case .several(let devices): devices[index]
        case .wanted: preconditionFailure("the key of a user was taken for the user's devices")
        }
    }

    /// The user's key; see ``Device/owner``.
    var key: [UInt8] {
        if case .wanted(let key) = self { key } else { first?.owner ?? [] }
    }

    static func == (left: Self, right: Self) -> Bool {
        switch (left.first, right.first, left, right) {
        case (let left?, let right?, _, _): left.hasSameOwner(as: right)
        case (let left?, nil, _, .wanted(let key)): left.isOwned(by: key)
        case (nil, let right?, .wanted(let key), _): right.isOwned(by: key)
        case (_, _, .wanted(let left), .wanted(let right)): left == right
        default: false
        }
    }

    func hash(into hasher: inout Hasher) {
        if case .wanted(let key) = self {
            hasher.combine(Device.hash(ofOwner: key))
        } else {
            hasher.combine(first?.ownerHash ?? 0)
        }
    }

    fileprivate func inserting(_ device: Device) -> UserDevices {
        if isEmpty { return .one(device) }
        var devices = Array(self)
        let index = firstIndex { device.name.utf8.lexicographicallyPrecedes($0.name.utf8) } ?? endIndex
        devices.insert(device, at: index)
        return .several(devices)
    }

    /// Nil if no device is left.
    fileprivate func removing(_ device: Device) -> UserDevices? {
        let devices = filter { $0 !== device }
        return devices.count > 1 ? .several(devices) : devices.first.map { .one($0) }
    }
}
