/// Checks a JSON text once, strictly (RFC 8259), and notes where each value stands; values are decoded when asked for.
///
/// One parser is reused for many texts: its notes (16 bytes a value) stay allocated.
@safe package struct JSONParser: ~Copyable {
    /// Of each text, not of all together.
    package let limits: JSONLimits
    private var nodes: UnsafeMutablePointer<JSONNode>
    private var nodesCapacity: Int
    private let open: UnsafeMutablePointer<UInt32>

    /// Takes memory for its notes as texts need it, and keeps it.
    package init(limits: JSONLimits = JSONLimits()) {
        limits.check()
        self.limits = limits
        nodesCapacity = 128
        unsafe nodes = .allocate(capacity: nodesCapacity)
        unsafe open = .allocate(capacity: limits.depthMax + 1)
    }

    deinit {
        unsafe nodes.deallocate()
        unsafe open.deallocate()
    }

    /// Reads one text that holds one value.
    ///
    /// - Returns: A view, valid while `text` is and until the next ``parse(_:)`` or ``shrink()``.
    /// - Throws: The first thing wrong, with its byte offset. Keys are compared last, in a text that is right otherwise.
    package mutating func parse(_ text: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
        guard text.count <= limits.bytesMax else {
            throw JSONError(.tooLong(bytes: text.count, limit: limits.bytesMax), at: limits.bytesMax)
        }
        guard let base = text.baseAddress, text.count > 0 else { throw JSONError(.empty, at: 0) }
        let bytes = unsafe base.assumingMemoryBound(to: UInt8.self)
        reserveNodes(JSONParser.nodesMax(bytes: text.count, depth: limits.depthMax))
        let scanner = unsafe JSONScanner(
            bytes: bytes, count: text.count, nodes: nodes, open: open, depthMax: limits.depthMax)
        let nodeCount = try unsafe scanner.scan()
        if limits.refusesDuplicateKeys { try unsafe checkKeys(nodeCount, bytes) }
        return unsafe JSONValue(nodes: UnsafePointer(nodes), bytes: bytes, index: 0)
    }

    /// Gives back memory that an unusually large text needed.
    package mutating func shrink() {
        guard nodesCapacity > 65_536 else { return }
        unsafe nodes.deallocate()
        nodesCapacity = 128
        unsafe nodes = .allocate(capacity: nodesCapacity)
    }

    /// A complete value of n nodes takes at least 2n - 1 bytes, a separator after it one, and each of the containers
    /// still open one; so at no point of a text are there more than (bytes + depth + 1) / 2 nodes.
    private static func nodesMax(bytes: Int, depth: Int) -> Int { (bytes + min(depth, bytes)) / 2 + 2 }

    private mutating func reserveNodes(_ count: Int) {
        guard count > nodesCapacity else { return }
        unsafe nodes.deallocate()
        nodesCapacity = max(count, nodesCapacity * 2)
        unsafe nodes = .allocate(capacity: nodesCapacity)
    }

    private func checkKeys(_ nodeCount: Int, _ bytes: UnsafePointer<UInt8>) throws(JSONError) {
        var first: JSONValue?
        for index in 0..<nodeCount where unsafe nodes[index].kind == .object {
            let object = unsafe JSONValue(nodes: UnsafePointer(nodes), bytes: bytes, index: index)
            if let key = object.repeatedKey, key.offset < first?.offset ?? .max { first = key }
        }
        if let first { throw JSONError(.duplicateKey(first.string ?? ""), at: first.offset) }
    }
}
