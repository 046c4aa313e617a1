/// A view of one value in an event's text; nothing is decoded or copied until asked for.
///
/// The compiler holds that no view outlives the event: a view can be neither stored nor kept by a closure.
@safe public struct JSONView: ~Escapable {
    /// The same without the compiler's promise: for stages of this package, whose structs hold it during a call.
    @usableFromInline package let value: JSONValue

    @_lifetime(borrow value)
    @inlinable
    @inline(__always)
    package init(_ value: borrowing JSONValue) { self.value = copy value }

    /// Whether it is the word `null`.
    public var isNull: Bool { value.isNull }
    /// Whether it is a text in quotes.
    public var isString: Bool { value.isString }
    /// Whether it is a number, of any size and precision.
    public var isNumber: Bool { value.isNumber }
    /// Whether it has members.
    public var isObject: Bool { value.isObject }
    /// Whether it has elements.
    public var isArray: Bool { value.isArray }
    /// Number of members or elements; 0 for anything else.
    public var count: Int { value.count }

    /// Nil where it is neither `true` nor `false`.
    public var bool: Bool? { value.bool }
    /// The whole number written without fraction or exponent, when it fits 64 bits exactly.
    public var int64: Int64? { value.int64 }
    /// The nearest double; nil when this is no number, or one beyond the range of a double.
    public var double: Double? { value.double }
    /// The decoded text; nil when this is no string.
    public var string: String? { value.string }
    /// Whether it is a string of those characters, once its escapes are resolved.
    public func equals(_ text: String) -> Bool { value.equals(text) }

    /// The value's exact text, quotes included.
    public var raw: RawSpan {
        @_lifetime(copy self)
        get { unsafe _overrideLifetime(RawSpan(_unsafeBytes: value.raw), copying: self) }
    }

    /// The first member with that key; nil when there is none or this is no object.
    public subscript(key: StaticString) -> JSONView? {
        @_lifetime(copy self)
        get {
            guard let member = value[key] else { return nil }
            return view(of: member)
        }
    }

    /// As ``subscript(_:)``, for a key that is not a literal.
    @_lifetime(copy self)
    public func member(_ key: String) -> JSONView? {
        guard let member = value.member(key) else { return nil }
        return view(of: member)
    }

    /// Goes through the members in the order of the text; does nothing where this is no object.
    public func forEachMember<Failure: Error>(
        _ body: (_ key: JSONView, _ value: JSONView) throws(Failure) -> Void
    ) throws(Failure) {
        for (key, value) in value.members { try body(JSONView(key), JSONView(value)) }
    }

    /// Goes through the elements in order; does nothing where this is no array.
    public func forEachElement<Failure: Error>(_ body: (JSONView) throws(Failure) -> Void) throws(Failure) {
        for element in value.elements { try body(JSONView(element)) }
    }

    /// Another value of the same event.
    @_lifetime(copy self)
    @inlinable
    @inline(__always)
    package func view(of value: JSONValue) -> JSONView { unsafe _overrideLifetime(JSONView(value), copying: self) }
}
