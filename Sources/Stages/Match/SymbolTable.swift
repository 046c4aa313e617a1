import JSON

/// Small numbers for names, so that what is compared for every change is a number.
///
/// Names come from saved subscriptions only; a change's names are looked up, never added.
struct SymbolTable {
    /// Open addressing with linear probing; -1 where nothing stands. At most half full, a power of two.
    private var slots = [Int32](repeating: -1, count: 64)
    private var text: [UInt8] = []
    /// Where each name starts in `text`, and where the last one ends.
    private var starts = [0]

    var count: Int { starts.count - 1 }

    @inline(__always)
    func find(_ name: UnsafeRawBufferPointer) -> Int32? {
        let symbol = slots[slot(of: name)]
        return symbol < 0 ? nil : symbol
    }

    mutating func intern(_ name: UnsafeRawBufferPointer) -> Int32 {
        let slot = slot(of: name)
        if slots[slot] >= 0 { return slots[slot] }
        let symbol = Int32(count)
        text.append(contentsOf: name)
        starts.append(text.count)
        slots[slot] = symbol
        if count * 2 > slots.count { grow() }
        return symbol
    }

    mutating func intern(_ name: [UInt8]) -> Int32 { name.withUnsafeBytes { intern($0) } }

    mutating func intern(_ name: String) -> Int32 {
        var name = name
        return name.withUTF8 { intern(UnsafeRawBufferPointer($0)) }
    }

    @inline(__always)
    private func slot(of name: UnsafeRawBufferPointer) -> Int {
        var slot = ByteHash.of(name) & (slots.count - 1)
        while slots[slot] >= 0, !isSame(slots[slot], name) { slot = (slot + 1) & (slots.count - 1) }
        return slot
    }

    @inline(__always)
    private func isSame(_ symbol: Int32, _ name: UnsafeRawBufferPointer) -> Bool {
        let range = starts[Int(symbol)]..<starts[Int(symbol) + 1]
        return range.count == name.count
            && text.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[range]).isSame(as: name) }
    }

    private mutating func grow() {
        slots = [Int32](repeating: -1, count: slots.count * 2)
        let (text, starts) = (text, starts)
        text.withUnsafeBytes { text in
            for symbol in 0..<count {
                slots[slot(of: UnsafeRawBufferPointer(rebasing: text[starts[symbol]..<starts[symbol + 1]]))] = Int32(
                    symbol)
            }
        }
    }
}

extension SymbolTable {
    @inline(__always)
    func find(_ name: JSONValue) -> Int32? {
        if let plain = name.plain { return find(plain) }
        return name.withUTF8 { find($0) } ?? nil
    }
}
