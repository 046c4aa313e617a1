import JSON
import Time

/// One push for one device, or the notice that a device was retired.
public struct Delivery: Sendable {
    /// Tells a delivery apart from all others of its log.
    public struct ID: Sendable, Hashable {
        /// Sequence of the push in the pushes log.
        public let push: UInt64
        /// The name under which its user registered the device.
        public let device: String
        /// Set where this is no push, but the notice that a device was retired: when it had been registered.
        public let retired: Instant?
        /// Tells it apart from all others that could be under way with it, but for one case in 2^64. It is in files, so
        /// it must never change.
        package let number: UInt64

        /// The same arguments make the same ID, in any process.
        public init(push: UInt64, device: String, retired: Instant? = nil) {
            self.push = push
            self.device = device
            self.retired = retired
            number = Self.number(push, device, retired)
        }

        private static func number(_ push: UInt64, _ device: String, _ retired: Instant?) -> UInt64 {
            var hash = (0xCBF2_9CE4_8422_2325 ^ push) &* 0x0000_0100_0000_01B3
            if let retired { hash = (hash ^ UInt64(bitPattern: retired.microseconds)) &* 0x9E37_79B9_7F4A_7C15 }
            for byte in device.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
            hash = (hash ^ hash >> 32) &* 0x9E37_79B9_7F4A_7C15
            return hash ^ hash >> 29
        }

        public func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }

    /// The app that a device registered: whose certificate or key a push to it needs.
    public struct App: Sendable {
        /// Every push has an app, and most have the one before: a copy of it is one reference.
        private final class Names: Sendable {
            let container: String
            let environment: String
            let topic: String?

            init(_ container: String, _ environment: String, _ topic: String?) {
                (self.container, self.environment, self.topic) = (container, environment, topic)
            }
        }

        private let names: Names

        /// Such as `iCloud.com.example.Notes`.
        public var container: String { names.container }
        /// CloudKit's: `development` or `production`.
        public var environment: String { names.environment }
        /// The app's bundle ID; nil where the device gave none.
        public var topic: String? { names.topic }

        /// Names as the device registered them.
        public init(container: String, environment: String, topic: String?) {
            names = Names(container, environment, topic)
        }
    }

    /// What never changes of it. It goes through many queues: a copy of it is one reference.
    private final class Content: Sendable {
        let id: ID
        let transport: String
        let app: App?
        let destination: UInt64
        let head: [UInt8]
        let rest: [UInt8]
        let unpruned: [UInt8]?

        init(
            _ id: ID, _ transport: String, _ app: App?, _ destination: UInt64, _ line: ([UInt8], [UInt8]),
            _ unpruned: [UInt8]?
        ) {
            self.id = id
            self.transport = transport
            self.app = app
            self.destination = destination
            (head, rest) = line
            self.unpruned = unpruned
        }
    }

    private let content: Content
    /// How often transports have sent it before: what a wait before the next time depends on.
    public var attempts = 0
    /// Whether it is to be sent no more, and is only asked for: a transport said ``TransportAnswer/isUnderWay`` of it. Such
    /// a delivery goes to that transport alone, which joins it with what it has; no other transport sees it.
    public var isStatusQuery = false

    /// What an answer to the delivery names it by.
    public var id: ID { content.id }
    /// The transport's name, as the device registered it.
    public var transport: String { content.transport }
    /// The device's app; not part of the line. Nil in pushes that no stage made.
    public var app: App? { content.app }
    /// Tells the device apart from those of all users; 0 in pushes that no stage made.
    package var destination: UInt64 { content.destination }
    /// How the line begins: what is this device's own.
    public var head: [UInt8] { content.head }
    /// How it goes on: what all devices that get the same push share, in memory too.
    public var rest: [UInt8] { content.rest }
    /// The payload before anything was left out of it; nil where nothing was. Not part of the line, and shared as
    /// ``rest`` is.
    public var unpruned: [UInt8]? { content.unpruned }

    /// - Parameters:
    ///   - head: How the line begins.
    ///   - rest: How it goes on. Nothing is copied: one array may serve any number of deliveries.
    ///   - unpruned: The payload before anything was left out of it; nil where nothing was.
    public init(
        id: ID, transport: String, app: App? = nil, head: [UInt8], rest: [UInt8], unpruned: [UInt8]? = nil
    ) {
        self.init(id: id, transport: transport, app: app, destination: 0, head: head, rest: rest, unpruned: unpruned)
    }

    package init(
        id: ID, transport: String, app: App?, destination: UInt64, head: [UInt8], rest: [UInt8], unpruned: [UInt8]?
    ) {
        content = Content(id, transport, app, destination, (head, rest), unpruned)
    }

    /// A delivery whose line is not shared, such as one that was read from a file.
    public init(id: ID, transport: String, line: [UInt8]) {
        self.init(id: id, transport: transport, head: line, rest: [])
    }

    /// The push as the contract prints it: one JSON object, without a line feed. Made anew each time.
    public var line: [UInt8] { head + rest }

    /// The length of ``line``.
    public var byteCount: Int { head.count + rest.count }

    /// Appends ``line``.
    public func write(into buffer: inout ByteBuffer) {
        head.withUnsafeBytes { buffer.append($0) }
        rest.withUnsafeBytes { buffer.append($0) }
    }
}

extension Delivery.App: Hashable {
    public static func == (left: Self, right: Self) -> Bool {
        left.names === right.names
            || left.container == right.container && left.environment == right.environment && left.topic == right.topic
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(container)
        hasher.combine(environment)
        hasher.combine(topic)
    }
}

extension Delivery: Hashable {
    /// Where the line is divided does not count.
    public static func == (left: Delivery, right: Delivery) -> Bool {
        left.id == right.id && left.transport == right.transport && left.hasSameLine(as: right)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(byteCount)
    }

    /// Compares without making the lines, where both are divided at the same byte.
    public func hasSameLine(as other: Delivery) -> Bool {
        if head.count == other.head.count { return head == other.head && rest == other.rest }
        return byteCount == other.byteCount && line == other.line
    }
}
