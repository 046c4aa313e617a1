import Foundation

/// Gives Foundation's `NSPredicate` the initializers from text that it lacks on Linux.
///
/// An initializer of a class cannot return a subclass's instance; one of a protocol can.
public protocol PredicateFormat {}

extension NSPredicate: PredicateFormat {}

extension PredicateFormat where Self == NSPredicate {
    /// Makes a predicate from text, as CKQuery has it, for a ``CKQuerySubscription``.
    ///
    /// The text is checked when the subscription is saved (``InvalidSubscription``). `evaluate(with:)` takes a
    /// dictionary of field values, `[String: Any]`.
    ///
    /// - Parameters:
    ///   - format: With `%K` for the name of a field and `%@` for a value, or `%d`, `%f` and the like for a number.
    ///   - arguments: One for each placeholder: strings, numbers, `Date`, `Data`, ``CLLocation``,
    ///     ``CKRecord/Reference``, ``CKRecord/ID`` or arrays of them.
    public init(format: String, _ arguments: Any...) { self.init(format: format, argumentArray: arguments) }

    /// Makes a predicate from text, as ``init(format:_:)`` does, with the arguments in an array.
    public init(format: String, argumentArray arguments: [Any]?) {
        let arguments = (arguments ?? []).map { PredicateArgument($0) }
        self = TextPredicate(PredicateSource(format: format, arguments: arguments))
    }
}
