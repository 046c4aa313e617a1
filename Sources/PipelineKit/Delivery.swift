import EventLog
import JSON

/// One push for one device, or word of a device that is none any more.
public struct Delivery: Sendable {
    public struct ID: Sendable, Hashable {
        /// Sequence of the push in the pushes log.
        public var push: UInt64
        public var device: String
        /// Set where this is no push, but the notice that a device was retired: when it had been registered.
        public var retired: Instant?

        public init(push: UInt64, device: String, retired: Instant? = nil) {
            self.push = push
            self.device = device
            self.retired = retired
        }
    }

    /// The app that a device registered: whose certificate or key a push to it needs.
    public struct App: Sendable, Hashable {
        /// Such as `iCloud.com.example.Notes`.
        public var container: String
        /// CloudKit's: `development` or `production`.
        public var environment: String
        /// The app's bundle ID; nil where the device gave none.
        public var topic: String?

        public init(container: String, environment: String, topic: String?) {
            self.container = container
            self.environment = environment
            self.topic = topic
        }
    }

    public var id: ID
    /// The transport's name, as the device registered it.
    public var transport: String
    /// The device's app; not part of the line. Nil in pushes that no stage made.
    public var app: App?
    /// How often transports have sent it before: what a wait before the next time depends on.
    public var attempts = 0
    /// Tells the device apart from those of all users; 0 in pushes that no stage made.
    package var destination: UInt64 = 0
    /// Whether it is to be sent no more, and is only asked for: a transport said ``TransportAnswer/isUnderWay`` of it. Such
    /// a delivery goes to that transport alone, which joins it with what it has; no other transport sees it.
    public var isQuestion = false
    /// How the line begins: what is this device's own.
    public let head: [UInt8]
    /// How it goes on: what all devices that get the same push share, in memory too.
    public let rest: [UInt8]
    /// The payload before anything was left out of it; nil where nothing was. Not part of the line, and shared as
    /// ``rest`` is.
    public var unpruned: [UInt8]?

    /// - Parameters:
    ///   - head: How the line begins.
    ///   - rest: How it goes on. Nothing is copied: one array may serve any number of deliveries.
    public init(id: ID, transport: String, app: App? = nil, head: [UInt8], rest: [UInt8]) {
        self.id = id
        self.transport = transport
        self.app = app
        self.head = head
        self.rest = rest
    }

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

extension Delivery: Hashable {
    /// Where the line is divided does not count.
    public static func == (left: Delivery, right: Delivery) -> Bool {
        left.id == right.id && left.transport == right.transport && left.hasSameLine(as: right)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(byteCount)
    }

    public func hasSameLine(as other: Delivery) -> Bool {
        if head.count == other.head.count { return head == other.head && rest == other.rest }
        return byteCount == other.byteCount && line == other.line
    }
}
