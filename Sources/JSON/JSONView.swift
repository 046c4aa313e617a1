/// A view of one value in an event's text. It decodes and copies only on demand.
///
/// The compiler ensures that no view outlives the event. Only a value that is itself `~Escapable` can store a view, and
/// no escaping closure can capture it.
@safe public struct JSONView: ~Escapable {
    /// The unchecked view. The built-in stages store it in structs that exist only while a stage handles one event.
    @usableFromInline package let value: JSONValue

    @_lifetime(borrow value)
    @inlinable
    @inline(__always)
    package init(_ value: borrowing JSONValue) { self.value = copy value }

    /// Whether this is `null`.
    public var isNull: Bool { value.isNull }
    /// Whether this is a string.
    public var isString: Bool { value.isString }
    /// Whether this is a number.
    public var isNumber: Bool { value.isNumber }
    /// Whether this is an object.
    public var isObject: Bool { value.isObject }
    /// Whether this is an array.
    public var isArray: Bool { value.isArray }
    /// The number of members or elements; 0 for a scalar.
    public var count: Int { value.count }

    /// Nil if this is neither `true` nor `false`.
    public var bool: Bool? { value.bool }
    /// A number without fraction or exponent that fits 64 signed bits; nil for any other value.
    public var int64: Int64? { value.int64 }
    /// The nearest double; nil if this is not a number, or too large for a double.
    public var double: Double? { value.double }
    /// The decoded text; nil if this is not a string.
    public var string: String? { value.string }
    /// Whether this is a string with this text, after decoding.
    public func equals(_ text: String) -> Bool { value.equals(text) }

    /// The value's exact text. The text of a string includes the quotes.
    public var raw: RawSpan {
        @_lifetime(copy self)
        get { unsafe _overrideLifetime(RawSpan(_unsafeBytes: value.raw), copying: self) }
    }

    /// The value of the first member with this key; nil if no member has this key, or if this is not an object.
    public subscript(key: StaticString) -> JSONView? {
        @_lifetime(copy self)
        get {
            guard let member = value[key] else { return nil }
            return view(of: member)
        }
    }

    /// Like ``subscript(_:)``, for a key that is not a literal.
    @_lifetime(copy self)
    public func member(_ key: String) -> JSONView? {
        guard let member = value.member(key) else { return nil }
        return view(of: member)
    }

    /// Calls `body` for each member in the order of the text. Does nothing if this is not an object.
    public func forEachMember<Failure: Error>(
        _ body: (_ key: JSONView, _ value: JSONView) throws(Failure) -> Void
    ) throws(Failure) {
        for (key, value) in value.members { try body(JSONView(key), JSONView(value)) }
    }

    /// Calls `body` for each element in order. Does nothing if this is not an array.
    public func forEachElement<Failure: Error>(_ body: (JSONView) throws(Failure) -> Void) throws(Failure) {
        for element in value.elements { try body(JSONView(element)) }
    }

    /// A view of another value of the same event.
    @_lifetime(copy self)
    @inlinable
    @inline(__always)
    package func view(of value: JSONValue) -> JSONView { unsafe _overrideLifetime(JSONView(value), copying: self) }
}
