import Events
import JSON
import PipelineKit
import Time

/// A registration of a device. Millions of registrations are in memory, so the devices of an app share a
/// ``RegisteredApp``.
///
/// A new registration makes a new object. Pushes in flight keep the old object.
final class Device: Sendable {
    let registeredApp: RegisteredApp
    /// When the device was registered.
    let registered: Instant
    /// Makes the `apns-id` of a push to this device differ from the `apns-id` at the user's other devices.
    let salt: UInt64
    /// A hash that identifies the device among the devices of all users.
    let identityHash: UInt64
    /// A hash of ``owner``.
    let ownerHash: Int
    /// The names of the user and the device, then the token.
    private let bytes: [UInt8]
    private let nameStart: UInt32
    private let tokenStart: UInt32

    init(_ registration: Registration, at time: Instant, _ registeredApp: RegisteredApp) {
        registered = time
        self.registeredApp = registeredApp
        salt = FNV.hash(registration.device.name.utf8)
        identityHash = FNV.hash(registration.device.user + registration.device.name.utf8)
        ownerHash = Device.hash(ofOwner: registration.device.user)
        let user = registration.device.user.dropFirst(registeredApp.ownerPrefix.count).dropLast()
        let name = registration.device.name.utf8
        nameStart = UInt32(user.count)
        tokenStart = UInt32(user.count + name.count)
        bytes = Array(user) + name + registration.token.utf8
    }

    static func hash(ofOwner key: [UInt8]) -> Int {
        var hasher = Hasher()
        key.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    var transport: String { registeredApp.key.transport }
    /// Whether the pipeline has the transport.
    var hasTransport: Bool { registeredApp.hasTransport }
    var app: Delivery.App { registeredApp.key.app }
    var topic: String? { app.topic }
    /// The index of the app in ``Apps``.
    var appIndex: Int { registeredApp.index }
    private var user: ArraySlice<UInt8> { bytes[..<Int(nameStart)] }
    private var nameBytes: ArraySlice<UInt8> { bytes[Int(nameStart)..<Int(tokenStart)] }
    private var tokenBytes: ArraySlice<UInt8> { bytes[Int(tokenStart)...] }
    var name: String { String(decoding: nameBytes, as: UTF8.self) }
    var token: String { String(decoding: tokenBytes, as: UTF8.self) }
    /// A key that consists of container, environment and user.
    var owner: [UInt8] { registeredApp.ownerPrefix + user + [0] }

    /// - Parameter key: See ``owner``.
    func isOwned(by key: [UInt8]) -> Bool {
        let prefix = registeredApp.ownerPrefix
        return key.count == prefix.count + user.count + 1 && key.starts(with: prefix)
            && key[prefix.count...].starts(with: user)
    }

    func hasSameOwner(as other: Device) -> Bool {
        ownerHash == other.ownerHash && user == other.user
            && registeredApp.ownerPrefix == other.registeredApp.ownerPrefix
    }

    /// Whether both have the same address, that is, the same app, transport and token. No two registered devices have
    /// the same address.
    func hasSameAddress(as other: Device) -> Bool {
        (registeredApp === other.registeredApp || registeredApp.key == other.registeredApp.key)
            && tokenBytes == other.tokenBytes
    }

    /// Feeds the device's address into the hasher.
    func hashAddress(into hasher: inout Hasher) {
        hasher.combine(registeredApp.index)
        tokenBytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// Compares names byte by byte: two encodings of an accented letter are two names.
    func isNamed(_ other: String) -> Bool { nameBytes.elementsEqual(other.utf8) }

    func isNamed(_ other: JSONValue) -> Bool { nameBytes.withUnsafeBytes { other.equals($0) } }

    /// Whether both are the same registration.
    func isSame(as other: Device) -> Bool {
        self === other
            || registered == other.registered && hasSameAddress(as: other) && hasSameOwner(as: other)
                && nameBytes == other.nameBytes
    }

    /// Whether both have a topic, and the topics differ.
    func isOfOtherApp(than other: Device) -> Bool {
        guard let own = app.topic, let former = other.app.topic else { return false }
        return !own.utf8.elementsEqual(former.utf8)
    }

    /// A key that all pushes to this device with the collapse ID share.
    func collapseKey(_ collapseID: [UInt8]) -> [UInt8] { owner + nameBytes + [0] + collapseID }

    /// The approximate size of the device's members in a push.
    var textBytes: Int { bytes.count + registeredApp.textBytes + 32 }

    /// Appends `,"device":…,"transport":…`.
    @inline(__always)
    func writeName(to buffer: inout ByteBuffer) {
        buffer.append(member: .device)
        nameBytes.withUnsafeBytes { buffer.appendJSON(utf8: $0) }
        registeredApp.transportMember.withUnsafeBytes { buffer.append($0) }
    }

    /// Appends `,"device":…,"transport":…,"token":…`.
    @inline(__always)
    func writeNameAndToken(to buffer: inout ByteBuffer) {
        writeName(to: &buffer)
        buffer.append(member: .token)
        tokenBytes.withUnsafeBytes { buffer.appendJSON(utf8: $0) }
    }

    /// Appends `,"apns-topic":…` if there is a topic.
    @inline(__always)
    func writeTopic(to buffer: inout ByteBuffer) {
        registeredApp.topicMember.withUnsafeBytes { buffer.append($0) }
    }
}

/// An app at a transport, with what all its devices share.
final class RegisteredApp: Sendable {
    let key: AppKey
    /// The index of the app in ``Apps``.
    let index: Int
    /// Whether the pipeline has the transport.
    let hasTransport: Bool
    /// Container and environment, each followed by a zero byte: the beginning of the keys of the app's users.
    let ownerPrefix: [UInt8]
    /// `,"transport":…`
    let transportMember: [UInt8]
    /// `,"apns-topic":…`; empty if there is no topic.
    let topicMember: [UInt8]

    init(_ key: AppKey, index: Int, hasTransport: Bool) {
        (self.key, self.index, self.hasTransport) = (key, index, hasTransport)
        ownerPrefix = Array(key.app.container.utf8) + [0] + Array(key.app.environment.utf8) + [0]
        var text = ByteBuffer()
        text.append(member: .transport)
        text.appendJSON(key.transport)
        transportMember = Array(text.bytes)
        text.removeAll()
        if let topic = key.app.topic {
            text.append(member: .apnsTopic)
            text.appendJSON(topic)
        }
        topicMember = Array(text.bytes)
    }

    var textBytes: Int { transportMember.count + topicMember.count }
}

/// FNV-1a with 64 bits. Every `apns-id` depends on it, so it must never change.
enum FNV {
    static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
