import Events
import JSON

/// One reason why something was or was not pushed: for programs by its code, for people as a sentence.
public struct Explanation: Sendable, Hashable {
    /// Who says so: the kind of a stage.
    public var stage: String
    /// Stable over versions, unlike ``text``.
    public var code: ExplanationCode
    /// A sentence without a full stop.
    public var text: String
    /// What the sentence is about, in a fixed order.
    public var details: [Detail]
    /// What it is made of, such as the clauses of a predicate.
    public var parts: [Explanation]

    /// Made by a stage in its `explain`.
    public init(
        _ stage: String, _ code: ExplanationCode, _ text: String, _ details: [Detail] = [], parts: [Explanation] = []
    ) {
        self.stage = stage
        self.code = code
        self.text = text
        self.details = details
        self.parts = parts
    }

    /// A named value, as JSON.
    public struct Detail: Sendable, Hashable {
        /// The key of the value in the JSON form of an explanation.
        public let name: String
        /// The value's JSON text.
        public let json: [UInt8]

        /// A JSON string.
        public init(_ name: String, _ text: String) {
            var buffer = ByteBuffer()
            buffer.appendJSON(text)
            self.init(name, buffer)
        }

        /// A JSON number.
        public init(_ name: String, _ number: UInt64) {
            var buffer = ByteBuffer()
            buffer.appendJSON(number)
            self.init(name, buffer)
        }

        /// `true` or `false`.
        public init(_ name: String, _ flag: Bool) {
            self.name = name
            json = Array((flag ? "true" : "false").utf8)
        }

        /// A copy of the value as it was written.
        public init(_ name: String, _ value: JSONView) { self.init(name, value.value) }

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            json = Array(value.raw)
        }

        /// A JSON array of strings.
        public init(_ name: String, _ texts: [String]) {
            var buffer = ByteBuffer()
            for (index, text) in texts.enumerated() {
                buffer.append(index == 0 ? "[" : ",")
                buffer.appendJSON(text)
            }
            buffer.append(texts.isEmpty ? "[]" : "]")
            self.init(name, buffer)
        }

        /// - Parameter buffer: Holds one JSON value.
        package init(_ name: String, _ buffer: borrowing ByteBuffer) {
            self.name = name
            json = Array(buffer.bytes)
        }
    }

    /// The detail's JSON text; nil where there is none of that name.
    public func detail(_ name: String) -> String? {
        details.first { $0.name == name }.map { String(decoding: $0.json, as: UTF8.self) }
    }

    /// Whether it, or one of its parts at any depth, has that code.
    public func contains(_ code: ExplanationCode) -> Bool {
        self.code == code || parts.contains { $0.contains(code) }
    }
}

// MARK: - As JSON

extension Explanation {
    /// `{"stage":…,"code":…,"text":…,"details":{…},"parts":[…]}`; the last two only where they hold something.
    package func write(into buffer: inout ByteBuffer) {
        buffer.append("{")
        buffer.append("stage", stage)
        buffer.append(.code, code.rawValue)
        buffer.append("text", text)
        writeDetails(into: &buffer)
        if !parts.isEmpty {
            buffer.append(",\"parts\":")
            Explanation.write(parts, into: &buffer)
        }
        buffer.append(byte: UInt8(ascii: "}"))
    }

    /// A JSON array.
    package static func write(_ explanations: [Explanation], into buffer: inout ByteBuffer) {
        buffer.list(explanations) { $1.write(into: &$0) }
    }

    private func writeDetails(into buffer: inout ByteBuffer) {
        guard !details.isEmpty else { return }
        buffer.append(",\"details\":{")
        for detail in details {
            buffer.append(key: detail.name)
            detail.json.withUnsafeBytes { buffer.append($0) }
        }
        buffer.append(byte: UInt8(ascii: "}"))
    }
}

/// Whom an explanation is for: what is nil is not asked about.
public struct ExplainedSubject: Sendable, Hashable {
    /// The user who should have been notified.
    public var user: String?
    /// One of the user's devices, by its name.
    public var device: String?
    /// One of the user's subscriptions.
    public var subscriptionID: String?
    /// The app's container, such as `iCloud.com.example.Notes`.
    public var container: String?
    /// CloudKit's: `development` or `production`.
    public var environment: String?

    /// Asks about everything that is left out.
    public init(
        user: String? = nil, device: String? = nil, subscriptionID: String? = nil, container: String? = nil,
        environment: String? = nil
    ) {
        self.user = user
        self.device = device
        self.subscriptionID = subscriptionID
        self.container = container
        self.environment = environment
    }
}
