extension JSONValue {
    /// The first member with that key; nil when there is none or this is no object.
    @inlinable
    package subscript(key: StaticString) -> JSONValue? {
        unsafe member(UnsafeRawBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
    }

    /// As ``subscript(_:)``, for a key that is not a literal.
    package func member(_ key: String) -> JSONValue? {
        var key = key
        return key.withUTF8 { unsafe member(UnsafeRawBufferPointer($0)) }
    }

    /// As ``subscript(_:)``, for a key of UTF-8 bytes.
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

    /// The members in the order of the text; empty when this is no object.
    @inlinable
    package var members: Members { Members(of: self, remaining: isObject ? count : 0) }

    /// The elements in order; empty when this is no array.
    @inlinable
    package var elements: Elements { Elements(of: self, remaining: isArray ? count : 0) }

    /// Goes through an object without making anything.
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

    /// Goes through an array without making anything.
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
    /// The first key that stands in this object for the second time; nil when all are different.
    var repeatedKey: JSONValue? { count <= 16 && !fewKeysRepeat ? nil : repeatedKeyAmongMany }

    /// Compares each key with all after it: quicker than hashing where there are few.
    private var fewKeysRepeat: Bool {
        var later = members
        while let (key, _) = later.next() {
            var rest = later
            while let (other, _) = rest.next() {
                if key.hasSameText(as: other) { return true }
            }
        }
        return false
    }

    private var repeatedKeyAmongMany: JSONValue? {
        var seen = Set<[UInt8]>(minimumCapacity: count)
        for (key, _) in members where unsafe !seen.insert(key.withUTF8 { unsafe Array($0) } ?? []).inserted {
            return key
        }
        return nil
    }

    /// Whether both are strings of the same characters, byte by byte.
    package func hasSameText(as other: JSONValue) -> Bool {
        guard isString else { return false }
        if let other = unsafe other.plain { return unsafe equals(other) }
        return unsafe other.withUTF8 { unsafe equals($0) } ?? false
    }
}
