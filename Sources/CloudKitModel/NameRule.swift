import JSON

/// The length and the characters that a kind of name may have.
package struct NameRule: Sendable {
    enum Characters: Sendable {
        /// The ASCII characters from space to `~`.
        case ascii
        /// ASCII letters, digits and `_`, starting with a letter.
        case identifier
        /// ASCII letters, digits, `_`, `-` and `.`.
        case dotted
        /// The ASCII characters from space to `~`, without a space at either end, as HTTP headers require.
        case header
        /// Any text without ASCII control characters.
        case text
    }

    let what: StaticString
    let bytesMax: Int
    let characters: Characters

    /// - Throws: `member.kind`, `name.length` or `name.characters`.
    @inline(__always)
    package func check(_ value: JSONValue) throws(ModelError) {
        if let plain = value.plain, accepts(plain) { return }
        if let error = explain(value) { throw error }
    }

    /// Checks the required member under `key`.
    @inline(__always)
    package func check(_ key: StaticString, of object: JSONValue) throws(ModelError) {
        let value = try object.required(key)
        try under(key) { () throws(ModelError) in try check(value) }
    }

    package func accepts(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { accepts(UnsafeRawBufferPointer($0)) }
    }

    /// The rule as a clause: "a zone name has 1 to 255 bytes and is printable ASCII".
    package var rule: String { "\(what) has 1 to \(bytesMax) bytes and is \(characters.rule)" }

    @inline(__always)
    func accepts(_ name: UnsafeRawBufferPointer) -> Bool {
        guard name.count > 0, name.count <= bytesMax, allowsEnds(of: name) else { return false }
        switch characters {
        case .ascii, .header: return name.allSatisfy { $0 &- 0x20 < 0x5F }
        case .text: return name.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        case .identifier: return name.allSatisfy { NameRule.isAlphanumeric($0) || $0 == UInt8(ascii: "_") }
        case .dotted: return name.allSatisfy(NameRule.isDotted)
        }
    }

    @inline(__always)
    private func allowsEnds(of name: UnsafeRawBufferPointer) -> Bool {
        switch characters {
        case .identifier: NameRule.isLetter(name[0])
        case .header: name[0] != 0x20 && name[name.count - 1] != 0x20
        default: true
        }
    }

    @inline(never)
    private func explain(_ value: JSONValue) -> ModelError? {
        guard let text = value.string else { return value.kindError("\(what) must be a string") }
        let bytes = text.utf8.count
        guard bytes > 0, bytes <= bytesMax else {
            return ModelError("name.length", "\(what) has 1 to \(bytesMax) bytes, not \(bytes)")
        }
        guard value.withUTF8(accepts) != true else { return nil }
        return ModelError("name.characters", "\(what) is \(characters.rule), which \"\(text.quotable)\" is not")
    }

    @inline(__always)
    private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }

    @inline(__always)
    private static func isAlphanumeric(_ byte: UInt8) -> Bool { isLetter(byte) || byte &- UInt8(ascii: "0") < 10 }

    @inline(__always)
    private static func isDotted(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}

extension NameRule.Characters {
    var rule: String {
        switch self {
        case .ascii: "printable ASCII"
        case .identifier: "ASCII letters, digits and '_' with a letter first"
        case .dotted: "ASCII letters, digits, '.', '-' and '_'"
        case .header: "printable ASCII without a space at its ends, fit for an HTTP header"
        case .text: "text without ASCII control characters"
        }
    }
}

extension NameRule {
    package static let recordName = NameRule("a record name", CloudKitLimits.recordNameBytesMax, .ascii)
    /// A record type may have dots, because CloudKit's own type `cloudkit.share` has one.
    package static let recordType = NameRule("a record type", CloudKitLimits.recordTypeBytesMax, .dotted)
    package static let fieldName = NameRule("a field name", CloudKitLimits.fieldNameBytesMax, .identifier)
    package static let zoneName = NameRule("a zone name", CloudKitLimits.zoneNameBytesMax, .ascii)
    package static let user = NameRule("a user's record name", CloudKitLimits.userNameBytesMax, .ascii)
    package static let device = NameRule("a device's name", CloudKitLimits.deviceNameBytesMax, .text)
    package static let subscriptionID = NameRule("a subscription ID", CloudKitLimits.subscriptionIDBytesMax, .text)
    package static let container = NameRule("a container", CloudKitLimits.containerBytesMax, .dotted)
    package static let transport = NameRule("a transport's name", CloudKitLimits.transportBytesMax, .dotted)
    package static let token = NameRule("a token", CloudKitLimits.tokenBytesMax, .header)
    package static let topic = NameRule("a topic", CloudKitLimits.topicBytesMax, .header)
    package static let collapseID = NameRule("a collapse ID", CloudKitLimits.collapseIDBytesMax, .header)
    package static let request = NameRule("a request's name", CloudKitLimits.requestBytesMax, .text)

    package static let notificationID = NameRule("a notification's ID", CloudKitLimits.recordNameBytesMax, .text)
    package static let logName = NameRule("a log's name", CloudKitLimits.recordNameBytesMax, .dotted)
    package static let header = NameRule("a header", CloudKitLimits.headerBytesMax, .header)

    init(_ what: StaticString, _ bytesMax: Int, _ characters: Characters) {
        self.init(what: what, bytesMax: bytesMax, characters: characters)
    }
}

/// Checks a container's identifier.
package enum Container {
    /// - Throws: `container.prefix`, and the errors of ``NameRule/check(_:)``.
    @inline(__always)
    package static func check(_ value: JSONValue) throws(ModelError) {
        try NameRule.container.check(value)
        guard value.withText(hasPrefix) == true else {
            let name = (value.string ?? "").quotable
            throw ModelError(
                "container.prefix",
                "\"\(name)\" is not a container: write \"iCloud.\" and a name, as in iCloud.com.example.App")
        }
    }

    @inline(__always)
    private static func hasPrefix(_ name: UnsafeRawBufferPointer) -> Bool {
        let prefix: StaticString = "iCloud."
        let bytes = UnsafeRawBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount)
        return name.count > bytes.count && UnsafeRawBufferPointer(rebasing: name[..<bytes.count]).isSame(as: bytes)
    }
}
