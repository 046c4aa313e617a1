import Events
import JSON

/// A push's line, read: what a transport needs of it. Nothing of it can be kept beyond the call that is given it.
public struct DeliveredPush: ~Escapable {
    /// The whole line.
    public let json: JSONView

    /// Whose device it is for.
    public var user: JSONView? { @_lifetime(copy self) get { json[.user] } }
    /// The name under which the user registered the device.
    public var device: JSONView? { @_lifetime(copy self) get { json[.device] } }
    /// As the device registered it.
    public var token: JSONView? { @_lifetime(copy self) get { json[.token] } }
    /// The same for each device that gets the notification.
    public var notificationID: JSONView? { @_lifetime(copy self) get { json[.notificationID] } }
    /// Those of APNs, by their names.
    public var headers: JSONView? { @_lifetime(copy self) get { json[.headers] } }
    /// What the device gets.
    public var payload: JSONView? { @_lifetime(copy self) get { json[.payload] } }

    /// The header `apns-id`.
    public var apnsID: JSONView? { @_lifetime(copy self) get { headers?[.apnsID] } }
    /// The header `apns-topic`; nil where the device registered none.
    public var topic: JSONView? { @_lifetime(copy self) get { headers?[.apnsTopic] } }
    /// The header `apns-collapse-id`.
    public var collapseID: JSONView? { @_lifetime(copy self) get { headers?[.apnsCollapseID] } }

    /// The header `apns-expiration`: seconds since 1970, or 0 for one attempt; nil where there is no such number.
    package static func expiration(_ headers: JSONValue) -> Int64? {
        headers[.apnsExpiration]?.string.flatMap { Int64($0) }
    }
}

/// Reads the lines of pushes, one after the other, for all transports alike.
public struct PushReader: ~Copyable {
    /// A line holds a payload, which is as deep as an event may be.
    package static var limits: JSONLimits { JSONLimits(depthMax: JSONLimits().depthMax + 8) }

    private var parser = JSONParser(limits: Self.limits)
    private var line: [UInt8] = []

    /// A reader is made once and used for many pushes.
    public init() {}

    /// - Returns: What `body` returns.
    /// - Throws: Where the line is not JSON.
    public mutating func read<Result>(
        _ delivery: Delivery, _ body: (DeliveredPush) -> Result
    ) throws(JSONError) -> Result {
        try read(delivery.head, delivery.rest, body)
    }

    /// - Parameters:
    ///   - head: How a delivery's line begins.
    ///   - rest: How it goes on.
    package mutating func read<Value>(
        _ head: [UInt8], _ rest: [UInt8], _ body: (DeliveredPush) -> Value
    ) throws(JSONError) -> Value {
        line.removeAll(keepingCapacity: true)
        line += head
        line += rest
        let read = line.withUnsafeBytes { line -> Result<Value, JSONError> in
            do throws(JSONError) {
                let json = try parser.parse(line)
                return .success(body(DeliveredPush(json: JSONView(json))))
            } catch { return .failure(error) }
        }
        return try read.get()
    }
}
