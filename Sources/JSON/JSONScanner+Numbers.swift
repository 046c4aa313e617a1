extension JSONScanner {
    @inline(__always)
    func number(_ start: Int, _ node: Int) throws(JSONError) -> Int {
        let whole = unsafe bytes[start] == UInt8(ascii: "-") ? start + 1 : start
        var position = try unsafe digits(whole)
        guard unsafe bytes[whole] != UInt8(ascii: "0") || position == whole + 1 else {
            throw JSONError(.badNumber, at: whole)
        }
        var flags = JSONNode.wholeBit
        if unsafe position < count, unsafe bytes[position] == UInt8(ascii: ".") || isExponent(position) {
            flags = 0
            position = try unsafe fraction(position)
        }
        unsafe note(.number, from: start, to: position, flags: flags, node)
        return position
    }

    @inline(__always)
    private func isExponent(_ position: Int) -> Bool { unsafe bytes[position] | 0x20 == UInt8(ascii: "e") }

    /// Reads a fraction, an exponent or both.
    @inline(never)
    private func fraction(_ start: Int) throws(JSONError) -> Int {
        var position = start
        if unsafe bytes[position] == UInt8(ascii: ".") { position = try unsafe digits(position + 1) }
        guard unsafe position < count, unsafe isExponent(position) else { return position }
        position += 1
        if unsafe isByte(UInt8(ascii: "+"), at: position) || isByte(UInt8(ascii: "-"), at: position) { position += 1 }
        return try unsafe digits(position)
    }

    @inline(__always)
    private func digits(_ start: Int) throws(JSONError) -> Int {
        var position = start
        while unsafe position < count, unsafe bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        guard position > start else { throw unsafe missing("a digit", position) }
        return position
    }
}
