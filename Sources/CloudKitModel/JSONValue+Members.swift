import JSON

extension JSONValue {
    /// Calls `body` with the decoded text, nearly always without a copy; nil if the value is not a string.
    ///
    /// Unlike `withUTF8`, this is inlined into its caller.
    @inlinable @inline(__always)
    package func withText<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        if let plain { return body(plain) }
        return withUTF8(body)
    }
}

/// Reads members, with a distinct error for each mistake.
extension JSONValue {
    /// - Throws: `member.missing`.
    @inline(__always)
    package func required(_ key: StaticString) throws(ModelError) -> JSONValue {
        guard let value = self[key] else { throw ModelError.missing(key) }
        return value
    }

    /// - Throws: `member.kind` if the value is not an object.
    @inline(__always)
    package func expectObject(_ what: StaticString) throws(ModelError) {
        guard isObject else { throw kindError("\(what) must be an object") }
    }

    /// - Throws: `member.kind` if the value is not an array.
    @inline(__always)
    package func expectArray(_ what: StaticString) throws(ModelError) {
        guard isArray else { throw kindError("\(what) must be an array") }
    }

    /// - Throws: `member.kind` if the value is not a string.
    @inline(__always)
    package func expectString(_ what: StaticString) throws(ModelError) {
        guard isString else { throw kindError("\(what) must be a string") }
    }

    /// The flag under `key`; false if it is missing.
    ///
    /// - Throws: `member.kind` if the member is neither `true` nor `false`.
    package func flag(_ key: StaticString) throws(ModelError) -> Bool {
        guard let value = self[key] else { return false }
        guard let flag = value.bool else { throw value.kindError("\(key) must be true or false").under("\(key)") }
        return flag
    }

    /// Rejects unknown members, so that a misspelt key is not ignored silently.
    ///
    /// - Throws: `member.unknown` with the most similar known key, or with all known keys if none is similar.
    @inline(__always)
    package func expectKeys(_ known: [StaticString], of what: StaticString) throws(ModelError) {
        for (key, _) in members where !known.contains(where: { key.equals($0) }) {
            throw ModelError.unknownKey(key, of: what, known: known)
        }
    }

    /// The index of this string in `words`.
    ///
    /// - Throws: `member.kind`, or `word.unknown` with the most similar word, or with all words if none is similar.
    @inline(__always)
    package func expectWord(_ words: [StaticString], _ what: StaticString) throws(ModelError) -> Int {
        for index in words.indices where equals(words[index]) { return index }
        throw ModelError.unknownWord(self, words, "\(what)")
    }

    package func kindError(_ rule: String) -> ModelError {
        let advice = isNull ? ": leave out an optional member that has no value" : ""
        return ModelError("member.kind", "\(rule), but this is \(kindName)\(advice)")
    }
}

extension ModelError {
    @inline(never)
    package static func missing(_ key: StaticString, _ rule: String = "is required: add it") -> ModelError {
        ModelError("member.missing", at: "\(key)", "\(key) \(rule)")
    }

    @inline(never)
    package static func unknownWord(_ value: JSONValue, _ words: [StaticString], _ what: String) -> ModelError {
        guard let word = value.string else { return value.kindError("\(what) must be a string") }
        let advice = Spelling.advice(for: word, among: words)
        return ModelError("word.unknown", "\(what) cannot be \"\(word.quotable)\": \(advice)")
    }

    @inline(never)
    static func unknownKey(_ key: JSONValue, of what: StaticString, known: [StaticString]) -> ModelError {
        let name = key.string ?? ""
        let advice = Spelling.advice(for: name, among: known)
        return ModelError(
            "member.unknown", at: name.excerpt, "\(what) has no member \"\(name.quotable)\": \(advice)")
    }
}

extension String {
    /// The string for an error message: at most 64 characters, followed by `…` if the string is longer.
    var excerpt: String { count > 64 ? prefix(64) + "…" : self }

    /// The excerpt with escaped line feeds, also those after a carriage return.
    var quotable: String {
        excerpt.unicodeScalars.reduce(into: "") { $0 += $1 == "\n" ? "\\u{a}" : String($1) }
    }
}
