import Foundation

/// Adds the initializers from text that Foundation's `NSPredicate` lacks on Linux.
///
/// A protocol, because only a protocol's initializer can return an instance of a subclass.
public protocol PredicateFormat {}

extension NSPredicate: PredicateFormat {}

extension PredicateFormat where Self == NSPredicate {
    /// Makes a predicate from a text in the syntax of CKQuery, for a ``CKQuerySubscription``.
    ///
    /// The text is checked when the subscription is saved (``InvalidSubscription``). `evaluate(with:)` accepts a
    /// dictionary of field values, `[String: Any]`.
    ///
    /// - Parameters:
    ///   - format: The text, with `%K` for the name of a field, `%@` for a value, and `%d`, `%f` and similar for a number.
    ///   - arguments: A value for each placeholder: strings, numbers, `Date`, `Data`, ``CLLocation``,
    ///     ``CKRecord/Reference``, ``CKRecord/ID`` or arrays of them.
    public init(format: String, _ arguments: Any...) { self.init(format: format, argumentArray: arguments) }

    /// Makes a predicate from text, as ``init(format:_:)`` does, with the arguments in an array.
    public init(format: String, argumentArray arguments: [Any]?) {
        let arguments = (arguments ?? []).map { PredicateArgument($0) }
        self = TextPredicate(PredicateSource(format: format, arguments: arguments))
    }
}
