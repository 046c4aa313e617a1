/// One pass over a text: grammar, UTF-8 and limits checked, one node noted for each value and key.
///
/// Containers are kept on an explicit stack, so depth costs no call stack.
struct JSONScanner {
    let bytes: UnsafePointer<UInt8>
    let count: Int
    let nodes: UnsafeMutablePointer<JSONNode>
    let open: UnsafeMutablePointer<UInt32>
    let depthMax: Int
    var position = 0
    private(set) var nodeCount = 0
    private var depth = 0

    init(
        bytes: UnsafePointer<UInt8>, count: Int, nodes: UnsafeMutablePointer<JSONNode>,
        open: UnsafeMutablePointer<UInt32>, depthMax: Int
    ) {
        self.bytes = bytes
        self.count = count
        self.nodes = nodes
        self.open = open
        self.depthMax = depthMax
    }

    mutating func scan() throws(JSONError) {
        if count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { throw JSONError(.byteOrderMark, at: 0) }
        skipSpace()
        guard position < count else { throw JSONError(.empty, at: position) }
        try value()
        while depth > 0 { try member() }
        skipSpace()
        guard position == count else { throw JSONError(.trailingBytes, at: position) }
    }

    @inline(__always)
    func stands(_ byte: UInt8) -> Bool { position < count && bytes[position] == byte }

    @inline(__always)
    mutating func note(_ kind: JSONValue.Kind, from start: Int, flags: UInt32 = 0) {
        nodes[nodeCount] = JSONNode(kind, from: start, to: position, next: nodeCount + 1, flags: flags)
        nodeCount += 1
    }

    /// The error for what stands here, or for the end of the text.
    @inline(never)
    func missing(_ expected: StaticString) -> JSONError {
        guard position < count else { return JSONError(.unexpectedEnd(expected: "\(expected)"), at: position) }
        return JSONError(.unexpectedByte(bytes[position], expected: "\(expected)"), at: position)
    }
}

// MARK: - Values

extension JSONScanner {
    @inline(__always)
    private mutating func value() throws(JSONError) {
        guard position < count else { throw missing("a value") }
        switch bytes[position] {
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "{"): try openContainer(.object)
        case UInt8(ascii: "["): try openContainer(.array)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
        case UInt8(ascii: "t"): try literal("true", .true)
        case UInt8(ascii: "f"): try literal("false", .false)
        case UInt8(ascii: "n"): try literal("null", .null)
        default: throw missing("a value")
        }
    }

    @inline(__always)
    private mutating func literal(_ text: StaticString, _ kind: JSONValue.Kind) throws(JSONError) {
        let start = position
        for index in 0..<text.utf8CodeUnitCount {
            guard stands(text.utf8Start[index]) else { throw missing(text) }
            position += 1
        }
        note(kind, from: start)
    }

    @inline(__always)
    private mutating func skipSpace() {
        while position < count {
            let byte = bytes[position]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            position += 1
        }
    }
}

// MARK: - Containers

extension JSONScanner {
    private mutating func openContainer(_ kind: JSONValue.Kind) throws(JSONError) {
        guard depth < depthMax else { throw JSONError(.tooDeep(limit: depthMax), at: position) }
        open[depth] = UInt32(truncatingIfNeeded: nodeCount)
        depth += 1
        note(kind, from: position)
        position += 1
    }

    /// Reads the next member or element of the innermost container, or its end.
    @inline(__always)
    private mutating func member() throws(JSONError) {
        let container = Int(open[depth - 1])
        let isObject = nodes[container].isKind(.object)
        skipSpace()
        if stands(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) { return closeContainer(container) }
        if nodes[container].count > 0 || position == count { try comma(isObject) }
        nodes[container].info &+= 1 << JSONNode.countShift
        if isObject { try key() }
        try value()
    }

    @inline(__always)
    private mutating func comma(_ isObject: Bool) throws(JSONError) {
        guard stands(UInt8(ascii: ",")) else { throw isObject ? missing("',' or '}'") : missing("',' or ']'") }
        position += 1
        skipSpace()
    }

    @inline(__always)
    private mutating func key() throws(JSONError) {
        guard stands(UInt8(ascii: "\"")) else { throw missing("a key in double quotes") }
        try string()
        skipSpace()
        guard stands(UInt8(ascii: ":")) else { throw missing("':'") }
        position += 1
        skipSpace()
    }

    @inline(__always)
    private mutating func closeContainer(_ container: Int) {
        position += 1
        depth -= 1
        nodes[container].end = UInt32(truncatingIfNeeded: position)
        nodes[container].next = UInt32(truncatingIfNeeded: nodeCount)
    }
}
