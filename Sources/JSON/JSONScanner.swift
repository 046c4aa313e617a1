/// Checks grammar, UTF-8 and nesting depth of a text in one pass, and notes one node for each value and key.
///
/// Open containers are on an explicit stack, so that nested containers need no recursion. A function that reads a part
/// of the text, such as `string`, takes a position and returns the position after this part. So the position stays in
/// a register.
@unsafe struct JSONScanner {
    let bytes: UnsafePointer<UInt8>
    let count: Int
    let nodes: UnsafeMutablePointer<JSONNode>
    let open: UnsafeMutablePointer<UInt32>
    let depthMax: Int

    /// - Returns: The number of nodes.
    func scan() throws(JSONError) -> Int {
        if unsafe count >= 3, unsafe bytes[0] == 0xEF, unsafe bytes[1] == 0xBB, unsafe bytes[2] == 0xBF {
            throw JSONError(.byteOrderMark, at: 0)
        }
        let start = unsafe space(0)
        guard unsafe start < count else { throw JSONError(.empty, at: start) }
        let (position, nodeCount) = unsafe try value(start)
        let end = unsafe space(position)
        guard unsafe end == count else { throw JSONError(.trailingBytes, at: end) }
        return nodeCount
    }

    /// Reads a value with all its members or elements.
    ///
    /// Inside an object, each round of the loop first reads a key and its colon. It then reads a scalar or the start of
    /// a container, and then the ends of containers and the comma that follow. The same loop reads nested containers,
    /// so that its state stays in registers.
    ///
    /// - Returns: The position after the value, and its number of nodes.
    private func value(_ start: Int) throws(JSONError) -> (position: Int, nodeCount: Int) {
        var (position, nodeCount, depth, container, isObject) = (start, 0, 0, 0, false)
        repeat {
            if isObject {
                position = try unsafe key(position, nodeCount)
                nodeCount &+= 1
            }
            guard unsafe position < count else { throw unsafe missing("a value", position) }
            var byte = unsafe bytes[position]
            if byte <= 0x20 {
                position = unsafe space(position)
                guard unsafe position < count else { throw unsafe missing("a value", position) }
                byte = unsafe bytes[position]
            }
            if byte == UInt8(ascii: "\"") {
                position = try unsafe string(position, nodeCount)
            } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                guard unsafe depth < depthMax else { throw unsafe JSONError(.tooDeep(limit: depthMax), at: position) }
                unsafe open[depth] = UInt32(truncatingIfNeeded: container)
                (depth, container, isObject) = (depth &+ 1, nodeCount, byte == UInt8(ascii: "{"))
                unsafe nodes[nodeCount] = JSONNode(
                    isObject ? .object : .array, from: position, to: position, next: nodeCount)
                position = unsafe space(position &+ 1)
                guard unsafe position < count else {
                    throw unsafe missing(isObject ? "a key in double quotes or '}'" : "a value or ']'", position)
                }
                guard unsafe bytes[position] == closing(isObject) else {
                    nodeCount &+= 1
                    unsafe nodes[container].info &+= 1 << JSONNode.countShift
                    continue
                }
            } else {
                position = try unsafe numberOrLiteral(byte, position, nodeCount)
            }
            nodeCount &+= 1
            while depth > 0 {
                guard unsafe position < count else { throw unsafe missing(isObject) }
                byte = unsafe bytes[position]
                if byte == UInt8(ascii: ",") {
                    unsafe nodes[container].info &+= 1 << JSONNode.countShift
                    position &+= 1
                    break
                }
                guard unsafe byte == closing(isObject) else {
                    guard byte <= 0x20, unsafe space(position) > position else {
                        throw unsafe missing(isObject, position)
                    }
                    position = unsafe space(position)
                    continue
                }
                position &+= 1
                unsafe nodes[container].end = UInt32(truncatingIfNeeded: position)
                unsafe nodes[container].next = UInt32(truncatingIfNeeded: nodeCount)
                depth &-= 1
                container = unsafe Int(open[depth])
                isObject = unsafe nodes[container].isKind(.object)
            }
        } while depth > 0
        return (position, nodeCount)
    }

    /// Reads a key and the colon after it.
    @inline(__always)
    private func key(_ start: Int, _ node: Int) throws(JSONError) -> Int {
        var position = unsafe isByte(UInt8(ascii: "\""), at: start) ? start : space(start)
        guard unsafe isByte(UInt8(ascii: "\""), at: position) else {
            throw unsafe missing("a key in double quotes", position)
        }
        position = try unsafe string(position, node)
        if unsafe !isByte(UInt8(ascii: ":"), at: position) { position = unsafe space(position) }
        guard unsafe isByte(UInt8(ascii: ":"), at: position) else { throw unsafe missing("':'", position) }
        return position &+ 1
    }
}

// MARK: - Steps

extension JSONScanner {
    @inline(__always)
    func isByte(_ byte: UInt8, at position: Int) -> Bool { unsafe position < count && bytes[position] == byte }

    @inline(__always)
    func note(_ kind: JSONValue.Kind, from start: Int, to end: Int, flags: UInt32 = 0, _ node: Int) {
        unsafe nodes[node] = JSONNode(kind, from: start, to: end, next: node &+ 1, flags: flags)
    }

    @inline(__always)
    private func closing(_ isObject: Bool) -> UInt8 { isObject ? UInt8(ascii: "}") : UInt8(ascii: "]") }

    @inline(__always)
    private func numberOrLiteral(_ byte: UInt8, _ position: Int, _ node: Int) throws(JSONError) -> Int {
        if byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "-") { return try unsafe number(position, node) }
        return switch byte {
        case UInt8(ascii: "t"): try unsafe literal("true", .true, position, node)
        case UInt8(ascii: "f"): try unsafe literal("false", .false, position, node)
        case UInt8(ascii: "n"): try unsafe literal("null", .null, position, node)
        default: throw unsafe missing("a value", position)
        }
    }

    @inline(never)
    private func literal(
        _ text: StaticString, _ kind: JSONValue.Kind, _ start: Int, _ node: Int
    ) throws(JSONError) -> Int {
        for offset in 0..<text.utf8CodeUnitCount {
            guard unsafe isByte(text.utf8Start[offset], at: start + offset) else {
                throw unsafe missing(text, start + offset)
            }
        }
        let end = start + text.utf8CodeUnitCount
        unsafe note(kind, from: start, to: end, node)
        return end
    }

    /// - Returns: The position of the next byte that is not white space, or the end of the text.
    @inline(__always)
    private func space(_ position: Int) -> Int {
        unsafe position < count && bytes[position] <= 0x20 ? moreSpace(position) : position
    }

    @inline(never)
    private func moreSpace(_ start: Int) -> Int {
        var position = start
        while unsafe position < count {
            let byte = unsafe bytes[position]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { break }
            position += 1
        }
        return position
    }

    /// The error for an unexpected byte, or for the end of the text.
    @inline(never)
    func missing(_ expected: StaticString, _ position: Int) -> JSONError {
        guard unsafe position < count else { return JSONError(.unexpectedEnd(expected: "\(expected)"), at: position) }
        return unsafe JSONError(.unexpectedByte(bytes[position], expected: "\(expected)"), at: position)
    }

    /// The error for a missing comma or a missing end of a container. If `position` is nil, the error is at the end of
    /// the text.
    @inline(never)
    private func missing(_ isObject: Bool, _ position: Int? = nil) -> JSONError {
        unsafe missing(isObject ? "',' or '}'" : "',' or ']'", position ?? count)
    }
}
