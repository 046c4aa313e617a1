import JSON
import Time

/// One push for one device, or the notice that a device was retired.
public struct Delivery: Sendable {
    /// The identity of a delivery within its log.
    public struct ID: Sendable, Hashable {
        /// The sequence of the push in the pushes log. A retirement notice has the sequence of the push whose answer
        /// made the stage retire the device.
        public let push: UInt64
        /// The name under which the user registered the device.
        public let device: String
        /// For a retirement notice, the time at which the device was registered. Nil for a push.
        public let retired: Instant?
        /// A hash of the other members. Two deliveries in flight practically never have the same hash (one case in
        /// 2^64). Files contain hashes, so their computation must never change.
        package let number: UInt64

        /// The same arguments give the same ID in any process.
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

    /// The app that a device registered for. It determines the certificate or key of a push.
    public struct App: Sendable {
        /// The names are in an object, so that a copy of an `App` copies only one reference.
        private final class Names: Sendable {
            let container: String
            let environment: String
            let topic: String?

            init(_ container: String, _ environment: String, _ topic: String?) {
                (self.container, self.environment, self.topic) = (container, environment, topic)
            }
        }

        private let names: Names

        /// The app's container, such as `iCloud.com.example.Notes`.
        public var container: String { names.container }
        /// CloudKit's environment: `development` or `production`.
        public var environment: String { names.environment }
        /// The app's bundle ID; nil if the device registered no topic.
        public var topic: String? { names.topic }

        /// Takes the names as the device registered them.
        public init(container: String, environment: String, topic: String?) {
            names = Names(container, environment, topic)
        }
    }

    /// The parts of a delivery that never change. They are in an object, so that a copy of a delivery, which goes
    /// through many queues, copies only one reference.
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
    /// How often transports have sent the push so far: the sum of ``TransportAnswer/attempts`` in all earlier answers
    /// to the push. The wait before the next attempt depends on this number.
    public var attempts = 0
    /// Whether the delivery sends nothing and only asks for the outcome of a push that is
    /// ``TransportAnswer/isUnderWay``. Such a query goes only to the transport that has the push.
    public var isStatusQuery = false

    /// The ID by which an answer names the delivery.
    public var id: ID { content.id }
    /// The name of the transport that gets the delivery. For a push, the device registered with this transport.
    public var transport: String { content.transport }
    /// The device's app, which is not a part of the line. Nil in a delivery that was made without an app, for example
    /// from a line in a file.
    public var app: App? { content.app }
    /// A hash that identifies the device among the devices of all users. It is 0 in a retirement notice, and in a
    /// delivery that was made with a public initializer.
    package var destination: UInt64 { content.destination }
    /// The beginning of the line, with the values of this device.
    public var head: [UInt8] { content.head }
    /// The line after ``head``. If devices of the push get the same payload, their deliveries can share this array.
    public var rest: [UInt8] { content.rest }
    /// The whole payload, before parts were left out. ``line`` does not contain this payload. The deliveries of one
    /// push can share the payload's memory. Nil if no part was left out, or if the whole payload is too long to be
    /// kept.
    public var unpruned: [UInt8]? { content.unpruned }

    /// - Parameters:
    ///   - head: The beginning of the line.
    ///   - rest: The line after `head`. It is not copied, so any number of deliveries may share one array.
    ///   - unpruned: The payload before parts were left out of it; nil if no part was left out.
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

    /// A delivery with a line of its own, such as one that was read from a file.
    public init(id: ID, transport: String, line: [UInt8]) {
        self.init(id: id, transport: transport, head: line, rest: [])
    }

    /// The push or the notice as one JSON object, without a line feed. Each access builds the line again.
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
    /// Compares the IDs, the transports and the whole lines. The place at which a line is divided into ``head`` and
    /// ``rest`` makes no difference.
    public static func == (left: Delivery, right: Delivery) -> Bool {
        left.id == right.id && left.transport == right.transport && left.hasSameLine(as: right)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(byteCount)
    }

    /// Whether both deliveries have the same line. If both lines are divided at the same byte, compares them without
    /// building them.
    public func hasSameLine(as other: Delivery) -> Bool {
        if head.count == other.head.count { return head == other.head && rest == other.rest }
        return byteCount == other.byteCount && line == other.line
    }
}
