/// Checks a JSON text strictly (RFC 8259) in one pass, and notes the position of each value. Values are decoded on
/// demand.
///
/// Use one parser for many texts, because a parser reuses the memory for the positions. A position takes 16 bytes.
/// The memory has room for as many keys and values as the longest text so far could have: at least 8 bytes for each
/// byte of this text.
@safe package struct JSONParser: ~Copyable {
    /// The limits of each text.
    package let limits: JSONLimits
    private var nodes: UnsafeMutablePointer<JSONNode>
    private var nodesCapacity = 128
    /// The scanner's stack of containers whose end it has not reached yet.
    private let open: UnsafeMutablePointer<UInt32>

    package init(limits: JSONLimits = JSONLimits()) {
        self.limits = limits
        unsafe nodes = .allocate(capacity: nodesCapacity)
        unsafe open = .allocate(capacity: limits.depthMax + 1)
    }

    deinit {
        unsafe nodes.deallocate()
        unsafe open.deallocate()
    }

    /// Parses a text with one value.
    ///
    /// - Returns: A view of the value. It is valid until the next call, and only as long as `text` is valid.
    /// - Throws: The first mistake. Repeated keys are only reported if the limits refuse them, and only for a text
    ///   without other mistakes.
    package mutating func parse(_ text: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
        guard text.count <= limits.bytesMax else {
            throw JSONError(.tooLong(bytes: text.count, limit: limits.bytesMax), at: limits.bytesMax)
        }
        guard let base = text.baseAddress, text.count > 0 else { throw JSONError(.empty, at: 0) }
        let bytes = unsafe base.assumingMemoryBound(to: UInt8.self)
        reserveNodes(for: text.count)
        let scanner = unsafe JSONScanner(
            bytes: bytes, count: text.count, nodes: nodes, open: open, depthMax: limits.depthMax)
        let nodeCount = try unsafe scanner.scan()
        if limits.refusesDuplicateKeys { try unsafe checkKeys(nodeCount, bytes) }
        return unsafe JSONValue(nodes: UnsafePointer(nodes), bytes: bytes, index: 0)
    }

    /// A complete value of n nodes has at least 2n - 1 bytes, and the separator after it has one byte. A container that
    /// is still open is one node and has at least one byte. So a text never has more than (bytes + depth + 1) / 2
    /// nodes.
    private mutating func reserveNodes(for bytes: Int) {
        let count = (bytes + min(limits.depthMax, bytes)) / 2 + 2
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
