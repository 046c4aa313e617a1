extension JSONValue {
    /// The value of the first member with this key; nil if no member has this key, or if this is not an object.
    @inlinable
    package subscript(key: StaticString) -> JSONValue? {
        unsafe member(UnsafeRawBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
    }

    /// Like ``subscript(_:)``, for a key that is not a literal.
    package func member(_ key: String) -> JSONValue? {
        var key = key
        return key.withUTF8 { unsafe member(UnsafeRawBufferPointer($0)) }
    }

    /// Like ``subscript(_:)``, for a key of UTF-8 bytes.
    @usableFromInline package func member(_ key: UnsafeRawBufferPointer) -> JSONValue? {
        guard isObject else { return nil }
        var next = index + 1
        let end = Int(node.next)
        while next < end {
            let name = unsafe JSONValue(nodes: nodes, bytes: bytes, index: next)
            if unsafe name.equals(key) { return unsafe JSONValue(nodes: nodes, bytes: bytes, index: next + 1) }
            next = unsafe Int(nodes[next + 1].next)
        }
        return nil
    }

    /// The members in the order of the text; empty if this is not an object.
    @inlinable
    package var members: Members { Members(of: self, remaining: isObject ? count : 0) }

    /// The elements in order; empty if this is not an array.
    @inlinable
    package var elements: Elements { Elements(of: self, remaining: isArray ? count : 0) }

    /// Iterates over an object without allocating.
    @usableFromInline package struct Members: Sequence, IteratorProtocol {
        @usableFromInline let container: JSONValue
        @usableFromInline var index: Int
        @usableFromInline var remaining: Int

        @inlinable
        init(of container: JSONValue, remaining: Int) {
            self.container = container
            index = container.index + 1
            self.remaining = remaining
        }

        @inlinable package var underestimatedCount: Int { remaining }

        @inlinable
        package mutating func next() -> (key: JSONValue, value: JSONValue)? {
            guard remaining > 0 else { return nil }
            remaining -= 1
            let key = unsafe JSONValue(nodes: container.nodes, bytes: container.bytes, index: index)
            let value = unsafe JSONValue(nodes: container.nodes, bytes: container.bytes, index: index + 1)
            index = Int(value.node.next)
            return (key, value)
        }
    }

    /// Iterates over an array without allocating.
    @usableFromInline package struct Elements: Sequence, IteratorProtocol {
        @usableFromInline let container: JSONValue
        @usableFromInline var index: Int
        @usableFromInline var remaining: Int

        @inlinable
        init(of container: JSONValue, remaining: Int) {
            self.container = container
            index = container.index + 1
            self.remaining = remaining
        }

        @inlinable package var underestimatedCount: Int { remaining }

        @inlinable
        package mutating func next() -> JSONValue? {
            guard remaining > 0 else { return nil }
            remaining -= 1
            let element = unsafe JSONValue(nodes: container.nodes, bytes: container.bytes, index: index)
            index = Int(element.node.next)
            return element
        }
    }
}

// MARK: - Repeated keys

extension JSONValue {
    /// The first key that repeats an earlier key of the object; nil if all keys are different.
    var repeatedKey: JSONValue? {
        // Comparing all pairs is faster than hashing for few keys.
        if count <= 16, !hasRepeatedKey { return nil }
        var seen = Set<[UInt8]>(minimumCapacity: count)
        for (key, _) in members where unsafe !seen.insert(key.withUTF8 { unsafe Array($0) } ?? []).inserted {
            return key
        }
        return nil
    }

    private var hasRepeatedKey: Bool {
        var later = members
        while let (key, _) = later.next() {
            if later.contains(where: { key.hasSameText(as: $0.key) }) { return true }
        }
        return false
    }

    /// Whether both values are strings with the same bytes after decoding.
    package func hasSameText(as other: JSONValue) -> Bool {
        guard isString else { return false }
        if let other = unsafe other.plain { return unsafe equals(other) }
        return unsafe other.withUTF8 { unsafe equals($0) } ?? false
    }
}
