extension JSONScanner {
    @inline(__always)
    mutating func number() throws(JSONError) {
        let start = position
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        try wholePart()
        var flags = JSONNode.wholeBit
        if stands(UInt8(ascii: ".")) {
            position += 1
            flags = 0
            try digits()
        }
        if position < count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            flags = 0
            try exponent()
        }
        note(.number, from: start, flags: flags)
    }

    @inline(__always)
    private mutating func wholePart() throws(JSONError) {
        let start = position
        try digits()
        guard bytes[start] != UInt8(ascii: "0") || position == start + 1 else { throw JSONError(.badNumber, at: start) }
    }

    private mutating func exponent() throws(JSONError) {
        position += 1
        if stands(UInt8(ascii: "+")) || stands(UInt8(ascii: "-")) { position += 1 }
        try digits()
    }

    @inline(__always)
    private mutating func digits() throws(JSONError) {
        let start = position
        while position < count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        guard position > start else { throw missing("a digit") }
    }
}
