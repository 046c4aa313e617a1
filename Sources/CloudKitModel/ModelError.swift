/// The first rule that an input breaks.
@usableFromInline
package struct ModelError: Error, Hashable, Sendable {
    /// A stable word for programs, such as `member.missing`.
    package var code: String
    /// Where, as a dotted path with indexes from 0: `notificationInfo.desiredKeys[3]`; empty for the whole.
    package var path: String
    /// A sentence with the rule and what to do.
    package var reason: String

    package init(_ code: String, at path: String = "", _ reason: String) {
        self.code = code
        self.path = path
        self.reason = reason
    }

    /// The same error as seen from the object that holds the broken value under `key`.
    @usableFromInline
    package func under(_ key: String) -> ModelError {
        let joint = path.isEmpty || path.hasPrefix("[") ? "" : "."
        return ModelError(code, at: key + joint + path, reason)
    }
}

/// Runs a check of the value under `key`; the path is written only when the check fails.
@inlinable @inline(__always)
package func under<Result>(
    _ key: StaticString, _ check: () throws(ModelError) -> Result
) throws(ModelError) -> Result {
    do { return try check() } catch { throw error.under("\(key)") }
}

/// Runs a check of an array's element.
@inlinable @inline(__always)
package func under(element index: Int, _ check: () throws(ModelError) -> Void) throws(ModelError) {
    do { try check() } catch { throw error.under("[\(index)]") }
}
