import Events
import JSON
import PipelineKit
import Time

/// A registration of a device, with the JSON members that every push to the device needs.
///
/// A new registration makes a new object. Pushes in flight keep the old object.
final class Device: Sendable {
    let name: String
    let transport: String
    /// Whether the pipeline has the transport.
    let hasTransport: Bool
    /// Shares its memory with the other devices of the app.
    let app: Delivery.App
    /// The index of the app in ``Apps``.
    let appIndex: Int
    /// When the device was registered.
    let registered: Instant
    /// Makes the `apns-id` of a push to this device differ from the `apns-id` at the user's other devices.
    let salt: UInt64
    /// A key that consists of container, environment and user.
    let owner: [UInt8]
    /// Identifies the device among the devices of all users.
    let number: UInt64
    /// A key that consists of container, environment, transport, topic and token. No two registered devices share it.
    let address: [UInt8]
    /// The members `,"device":…,"transport":…`, then `,"token":…`, then `,"apns-topic":…` if there is a topic.
    private let text: [UInt8]
    private let tokenStart: Int
    private let topicStart: Int

    init(_ registration: Registration, at time: Instant, hasTransport: Bool, app: Delivery.App, appIndex: Int) {
        registered = time
        self.appIndex = appIndex
        name = registration.device.name
        transport = registration.transport
        self.hasTransport = hasTransport
        self.app = app
        salt = FNV.hash(registration.device.name.utf8)
        owner = registration.device.user
        number = FNV.hash(registration.device.user + registration.device.name.utf8)
        address = registration.address
        var text = ByteBuffer(capacity: 256)
        text.append(member: .device)
        text.appendJSON(name)
        text.append(member: .transport)
        text.appendJSON(transport)
        tokenStart = text.count
        text.append(member: .token)
        text.appendJSON(registration.token)
        topicStart = text.count
        if let topic = registration.topic {
            text.append(member: .apnsTopic)
            text.appendJSON(topic)
        }
        self.text = Array(text.bytes)
    }

    /// Compares names byte by byte: two encodings of an accented letter are two names.
    func isNamed(_ other: String) -> Bool { name.utf8.elementsEqual(other.utf8) }

    /// Whether both are the same registration.
    func isSame(as other: Device) -> Bool {
        self === other
            || registered == other.registered && address == other.address && owner == other.owner
                && isNamed(other.name)
    }

    /// Whether both have a topic, and the topics differ.
    func isOfOtherApp(than other: Device) -> Bool {
        guard let own = app.topic, let former = other.app.topic else { return false }
        return !own.utf8.elementsEqual(former.utf8)
    }

    /// A key that all pushes to this device with the collapse ID share.
    func collapseKey(_ collapseID: [UInt8]) -> [UInt8] { owner + name.utf8 + [0] + collapseID }

    /// The size of the device's members in a push.
    var textBytes: Int { text.count }

    /// Appends `,"device":…,"transport":…`.
    @inline(__always)
    func writeName(to buffer: inout ByteBuffer) { write(0..<tokenStart, to: &buffer) }

    /// Appends `,"device":…,"transport":…,"token":…`.
    @inline(__always)
    func writeNameAndToken(to buffer: inout ByteBuffer) { write(0..<topicStart, to: &buffer) }

    /// Appends `,"apns-topic":…` if there is a topic.
    @inline(__always)
    func writeTopic(to buffer: inout ByteBuffer) { write(topicStart..<text.count, to: &buffer) }

    private func write(_ range: Range<Int>, to buffer: inout ByteBuffer) {
        text.withUnsafeBytes { buffer.append(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }
}

/// FNV-1a with 64 bits. Every `apns-id` depends on it, so it must never change.
enum FNV {
    static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
