import Events
import JSON
import PipelineKit
import Time

/// A registered device, with the texts that every push to it needs prepared once. Never changes: a new registration
/// makes a new one, and pushes in flight keep the old.
final class Device: Sendable {
    let name: String
    let transport: String
    let hasTransport: Bool
    /// The same in memory as that of the app's other devices.
    let app: Delivery.App
    /// Its app's place in ``Apps``.
    let appIndex: Int
    /// When the device was registered.
    let registered: Instant
    /// Tells this device's pushes apart from those of the user's others.
    let salt: UInt64
    /// Whose it is, as the key of the user's devices.
    let owner: [UInt8]
    /// Tells it apart from all other devices, of whichever user.
    let number: UInt64
    /// What it occupies: no two devices hold the same.
    let address: [UInt8]
    /// `,"device":…,"transport":…`, then `,"token":…`, then `,"apns-topic":…` if there is a topic.
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

    /// Names are compared byte by byte: two spellings of one accented letter are two names.
    func isNamed(_ other: String) -> Bool { name.utf8.elementsEqual(other.utf8) }

    /// Whether both are one registration.
    func isSame(as other: Device) -> Bool {
        self === other
            || registered == other.registered && address == other.address && owner == other.owner
                && isNamed(other.name)
    }

    /// Whether both name an app, and not the same.
    func isOfOtherApp(than other: Device) -> Bool {
        guard let own = app.topic, let former = other.app.topic else { return false }
        return !own.utf8.elementsEqual(former.utf8)
    }

    /// The collapse ID as that of this device's pushes.
    func collapseKey(_ collapseID: [UInt8]) -> [UInt8] { owner + name.utf8 + [0] + collapseID }

    /// Room that its texts take in a push.
    var textBytes: Int { text.count }

    /// Appends `,"device":…,"transport":…`.
    @inline(__always)
    func writeName(to buffer: inout ByteBuffer) { write(0..<tokenStart, to: &buffer) }

    /// Appends `,"device":…,"transport":…,"token":…`.
    @inline(__always)
    func writeNameAndToken(to buffer: inout ByteBuffer) { write(0..<topicStart, to: &buffer) }

    /// Appends `,"apns-topic":…`, or nothing.
    @inline(__always)
    func writeTopic(to buffer: inout ByteBuffer) { write(topicStart..<text.count, to: &buffer) }

    private func write(_ range: Range<Int>, to buffer: inout ByteBuffer) {
        text.withUnsafeBytes { buffer.append(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }
}

/// FNV-1a, 64 bits: part of what an `apns-id` is, so it must never change.
enum FNV {
    static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
