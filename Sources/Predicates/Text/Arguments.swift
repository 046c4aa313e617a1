import JSON

/// The arguments for `%@` and `%K`, taken in order. An error names the argument's path or the placeholder's offset, or
/// both.
struct Arguments {
    private var rest: JSONValue.Elements?
    private var taken = 0

    init(_ list: JSONValue?) throws(PredicateError) {
        guard let list else { return }
        guard list.isArray else {
            throw PredicateError(
                code: "predicate.arguments", path: "arguments",
                reason: "arguments must be an array with one value for each %@ and %K, in order")
        }
        rest = list.elements
    }

    mutating func literal(for token: Token) throws(PredicateError) -> Literal {
        let (json, path) = try next(for: token)
        do { return try Arguments.literal(json, path) } catch { throw error.at(token.offset) }
    }

    private static func literal(_ json: JSONValue, _ path: String) throws(PredicateError) -> Literal {
        if json.isObject, json["value"] != nil { return try LiteralReader.literal(fieldValue: json, path: path) }
        if let flag = json.bool { return .value(.integer(flag ? 1 : 0)) }
        return try LiteralReader.at(path) { () throws(BrokenRule) in try LiteralReader.literal(json) }
    }

    mutating func name(for token: Token) throws(PredicateError) -> String {
        let (json, path) = try next(for: token)
        guard let name = json.string else {
            throw PredicateError(
                code: "predicate.arguments", path: path, offset: token.offset,
                reason: "the argument for %K must be a field's name, as a string")
        }
        guard SystemField(inText: name) == nil else { return name }
        do { try FieldName.check(name) } catch {
            throw PredicateError(
                code: "predicate.arguments", path: path, offset: token.offset, reason: error.reason)
        }
        return name
    }

    /// - Throws: If there are more arguments than placeholders.
    mutating func end() throws(PredicateError) {
        guard rest?.next() != nil else { return }
        throw PredicateError(
            code: "predicate.arguments", path: "arguments[\(taken)]",
            reason: "the predicate has only \(taken) placeholders: take out the other arguments")
    }

    private mutating func next(for token: Token) throws(PredicateError) -> (JSONValue, String) {
        guard let json = rest?.next() else {
            throw PredicateError(
                code: "predicate.arguments", offset: token.offset,
                reason:
                    "\(token.name) has no argument: add the query's \"arguments\", one for each placeholder, in order")
        }
        taken += 1
        return (json, "arguments[\(taken - 1)]")
    }
}
