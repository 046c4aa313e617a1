import Events
import JSON

/// One reason why a change did or did not lead to a push: a code for programs and a sentence for people.
public struct Explanation: Sendable, Hashable {
    /// The kind of the stage that the reason is about.
    public var stage: String
    /// The reason's code. Unlike ``text``, it does not change between versions.
    public var code: ExplanationCode
    /// A sentence without a full stop.
    public var text: String
    /// The values that the sentence is about, in a fixed order.
    public var details: [Detail]
    /// The reasons that this reason consists of, such as the clauses of a predicate.
    public var parts: [Explanation]

    /// A stage calls this in its `explain`.
    public init(
        _ stage: String, _ code: ExplanationCode, _ text: String, _ details: [Detail] = [], parts: [Explanation] = []
    ) {
        self.stage = stage
        self.code = code
        self.text = text
        self.details = details
        self.parts = parts
    }

    /// A named JSON value.
    public struct Detail: Sendable, Hashable {
        /// The value's key in the JSON form of an explanation.
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

        /// A copy of a JSON value.
        public init(_ name: String, _ value: JSONView) { self.init(name, value.value) }

        package init(_ name: String, _ value: JSONValue) { self.init(name, json: Array(value.raw)) }

        /// - Parameter json: The text of one JSON value.
        package init(_ name: String, json: [UInt8]) { (self.name, self.json) = (name, json) }

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

        /// - Parameter buffer: The text of one JSON value.
        package init(_ name: String, _ buffer: borrowing ByteBuffer) {
            self.init(name, json: Array(buffer.bytes))
        }
    }

    /// The detail's JSON text; nil if there is no detail of that name.
    public func detail(_ name: String) -> String? {
        details.first { $0.name == name }.map { String(decoding: $0.json, as: UTF8.self) }
    }

    /// Whether the explanation, or one of its parts at any depth, has that code.
    public func contains(_ code: ExplanationCode) -> Bool {
        self.code == code || parts.contains { $0.contains(code) }
    }
}

// MARK: - As JSON

extension Explanation {
    /// Writes `{"stage":…,"code":…,"text":…,"details":{…},"parts":[…]}`. Leaves out empty `details` and `parts`.
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

    /// Writes a JSON array.
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

/// The user, device, subscription and app that an explanation is about. A nil property does not restrict the
/// explanation.
public struct ExplainedSubject: Sendable, Hashable {
    /// The user who expected the notification.
    public var user: String?
    /// The name of one of the user's devices.
    public var device: String?
    /// The ID of one of the user's subscriptions.
    public var subscriptionID: String?
    /// The app's container, such as `iCloud.com.example.Notes`.
    public var container: String?
    /// CloudKit's environment: `development` or `production`.
    public var environment: String?

    /// A value that is not given does not restrict the explanation.
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
