extension JSONScanner {
    @inline(__always)
    func number(_ start: Int, _ node: Int) throws(JSONError) -> Int {
        let whole = bytes[start] == UInt8(ascii: "-") ? start + 1 : start
        var position = try digits(whole)
        guard bytes[whole] != UInt8(ascii: "0") || position == whole + 1 else { throw JSONError(.badNumber, at: whole) }
        var flags = JSONNode.wholeBit
        if position < count, bytes[position] == UInt8(ascii: ".") || isExponent(position) {
            flags = 0
            position = try fraction(position)
        }
        note(.number, from: start, to: position, flags: flags, node)
        return position
    }

    @inline(__always)
    private func isExponent(_ position: Int) -> Bool { bytes[position] | 0x20 == UInt8(ascii: "e") }

    /// Reads a fraction, an exponent or both.
    @inline(never)
    private func fraction(_ start: Int) throws(JSONError) -> Int {
        var position = start
        if bytes[position] == UInt8(ascii: ".") { position = try digits(position + 1) }
        guard position < count, isExponent(position) else { return position }
        position += 1
        if stands(UInt8(ascii: "+"), position) || stands(UInt8(ascii: "-"), position) { position += 1 }
        return try digits(position)
    }

    @inline(__always)
    private func digits(_ start: Int) throws(JSONError) -> Int {
        var position = start
        while position < count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        guard position > start else { throw missing("a digit", position) }
        return position
    }
}
