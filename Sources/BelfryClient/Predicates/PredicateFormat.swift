import Foundation

/// Adds the initializers from text that Foundation's `NSPredicate` lacks on Linux.
///
/// It is a protocol because only a protocol's initializer can return an instance of a subclass.
public protocol PredicateFormat {}

extension NSPredicate: PredicateFormat {}

extension PredicateFormat where Self == NSPredicate {
    /// Makes a predicate for a ``CKQuerySubscription`` from text in CKQuery's syntax.
    ///
    /// This initializer does not check the text. ``BelfryUser/command(saving:in:isStrict:)`` does, and throws
    /// ``InvalidSubscription``. `evaluate(with:)` accepts a dictionary of field values, `[String: Any]`.
    ///
    /// - Parameters:
    ///   - format: The text, with `%K` for a field's name, `%@` for a value, and `%d`, `%f` and so on for a number.
    ///   - arguments: The value of each placeholder: a string, number, `Date`, `Data`, ``CLLocation``,
    ///     ``CKRecord/Reference``, ``CKRecord/ID`` or an array of them.
    public init(format: String, _ arguments: Any...) { self.init(format: format, argumentArray: arguments) }

    /// Makes a predicate from text, as ``init(format:_:)`` does, with the arguments in an array.
    public init(format: String, argumentArray arguments: [Any]?) {
        let arguments = (arguments ?? []).map { PredicateArgument($0) }
        self = TextPredicate(PredicateSource(format: format, arguments: arguments))
    }
}
