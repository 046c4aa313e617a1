/// The first rule that an input violates.
@usableFromInline
package struct ModelError: Error, Hashable, Sendable {
    /// A stable word for programs, such as `member.missing`.
    package var code: String
    /// The invalid member as a dotted path with indexes from 0, such as `notificationInfo.desiredKeys[3]`. Empty if the
    /// mistake is in the input as a whole.
    package var path: String
    /// A sentence that states the rule, and usually what was found or what to do.
    package var reason: String

    package init(_ code: String, at path: String = "", _ reason: String) {
        self.code = code
        self.path = path
        self.reason = reason
    }

    /// The same error with `key` added at the start of its path.
    @usableFromInline
    package func under(_ key: String) -> ModelError {
        let joint = path.isEmpty || path.hasPrefix("[") ? "" : "."
        return ModelError(code, at: key + joint + path, reason)
    }
}

/// Runs `check` on the value under `key`, and adds `key` to the path of its error.
@inlinable @inline(__always)
package func under<Result>(
    _ key: StaticString, _ check: () throws(ModelError) -> Result
) throws(ModelError) -> Result {
    do { return try check() } catch { throw error.under("\(key)") }
}

/// Runs `check` on an array's element, and adds the index to the path of its error.
@inlinable @inline(__always)
package func under(element index: Int, _ check: () throws(ModelError) -> Void) throws(ModelError) {
    do { try check() } catch { throw error.under("[\(index)]") }
}
