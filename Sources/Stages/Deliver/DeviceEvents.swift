import Events
import JSON
import PipelineKit

/// The device that an event names.
struct DeviceName {
    /// A key that consists of container, environment and user.
    let user: [UInt8]
    let name: String

    init(user: [UInt8], name: String) {
        self.user = user
        self.name = name
    }

    init(_ event: JSONValue) throws(Rejection) {
        user = try event.userKey()
        name = try event.text(.device)
    }
}

/// A parsed `device.register` event.
struct Registration {
    let device: DeviceName
    let transport: String
    let token: String
    let topic: String?

    init(_ event: JSONValue, _ rules: TokenRules = TokenRules()) throws(Rejection) {
        device = try DeviceName(event)
        transport = try event.text(.transport)
        token = try rules.address(event.text(.token), at: transport)
        topic = event[.topic].map(\.isNull) ?? true ? nil : try event.text(.topic)
    }

    /// - Parameter device: A device whose `user` is a valid key.
    init(_ device: DeviceName, transport: String, token: String, topic: String?) {
        self.device = device
        self.transport = transport
        self.token = token
        self.topic = topic
    }

    var app: Delivery.App {
        let parts = device.user.split(separator: 0).prefix(2).map { String(decoding: $0, as: UTF8.self) }
        return Delivery.App(container: parts[0], environment: parts[1], topic: topic)
    }
}

extension JSONValue {
    /// A key that consists of container, environment and user.
    func userKey() throws(Rejection) -> [UInt8] { try key(.container, .environment, .user) }

    /// The strings of the members, each followed by a zero byte. The strings themselves contain no zero byte.
    func key(_ first: StaticString, _ second: StaticString, _ third: StaticString) throws(Rejection) -> [UInt8] {
        let parts = (try keyPart(first), try keyPart(second), try keyPart(third))
        var key: [UInt8] = []
        key.reserveCapacity(parts.0.raw.count + parts.1.raw.count + parts.2.raw.count)
        key.append(part: parts.0)
        key.append(part: parts.1)
        key.append(part: parts.2)
        return key
    }

    /// The string of the member, which must not be empty or contain U+0000.
    func text(_ name: StaticString) throws(Rejection) -> String { try keyPart(name).string ?? "" }

    /// The member, which must exist and be of this kind.
    func required(_ name: StaticString, _ kind: Kind, _ noun: StaticString) throws(Rejection) -> JSONValue {
        guard let value = self[name] else {
            throw Rejection(code: "field.missing", reason: "\(name) is missing: add \(noun)", path: "\(name)")
        }
        guard value.kind == kind else {
            throw Rejection(
                code: "field.type", reason: "\(name) must be \(noun), not \(value.kindName)", path: "\(name)")
        }
        return value
    }

    /// The member, which must be of this kind; nil if it is missing or null.
    func optional(_ name: StaticString, _ kind: Kind, _ noun: StaticString) throws(Rejection) -> JSONValue? {
        self[name].map(\.isNull) ?? true ? nil : try required(name, kind, noun)
    }

    private func keyPart(_ name: StaticString) throws(Rejection) -> JSONValue {
        let value = try required(name, .string, "a string")
        let isValid = value.plain.map { $0.count > 0 } ?? value.withUTF8 { !$0.contains(0) } ?? false
        guard isValid else {
            throw Rejection(code: "field.value", reason: "\(name) is empty or contains U+0000", path: "\(name)")
        }
        return value
    }
}

extension [UInt8] {
    @inline(__always)
    fileprivate mutating func append(part: JSONValue) {
        if let plain = part.plain { append(contentsOf: plain) } else { part.withUTF8 { append(contentsOf: $0) } }
        append(0)
    }
}
