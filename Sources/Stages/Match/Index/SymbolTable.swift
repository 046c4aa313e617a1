import JSON

/// Small numbers for names, so that what is compared for every change is a number.
///
/// Names come from saved subscriptions only; a change's names are looked up, never added.
struct SymbolTable {
    private var numbers = HashedNumbers()
    private let text = Slab<UInt8>()
    /// Where each name starts in `text`, and where the last one ends.
    private let starts = Slab(repeating: 0, count: 1)

    var count: Int { starts.count - 1 }

    mutating func intern(_ name: UnsafeRawBufferPointer) -> Int32 {
        let hash = ByteHash.of(name)
        if let symbol = view.find(name, hash) { return symbol }
        let symbol = Int32(count)
        text.append(contentsOf: name)
        starts.append(text.count)
        numbers.insert(symbol, hash)
        return symbol
    }

    mutating func intern(_ name: [UInt8]) -> Int32 { name.withUnsafeBytes { intern($0) } }

    mutating func intern(_ name: String) -> Int32 {
        var name = name
        return name.withUTF8 { intern(UnsafeRawBufferPointer($0)) }
    }
}

// MARK: - Looking

extension SymbolTable {
    /// The table while it does not change.
    struct View {
        fileprivate let numbers: HashedNumbers.View
        fileprivate let text: UnsafePointer<UInt8>
        fileprivate let starts: UnsafePointer<Int>

        @inline(__always)
        func find(_ name: JSONValue) -> Int32? {
            if let plain = name.plain { return find(plain, ByteHash.of(plain)) }
            return name.withUTF8 { find($0, ByteHash.of($0)) } ?? nil
        }

        @inline(__always)
        fileprivate func find(_ name: UnsafeRawBufferPointer, _ hash: Int) -> Int32? {
            numbers.find(hash) { symbol in
                let (start, end) = (starts[Int(symbol)], starts[Int(symbol) + 1])
                return UnsafeRawBufferPointer(start: text + start, count: end - start).isSame(as: name)
            }
        }
    }

    @inline(__always)
    var view: View { View(numbers: numbers.view, text: text.base, starts: starts.base) }

    @inline(__always)
    func find(_ name: JSONValue) -> Int32? { view.find(name) }

    mutating func intern(text: JSONValue) -> Int32 {
        if let plain = text.plain { return intern(plain) }
        return text.withUTF8 { intern($0) } ?? intern([])
    }
}
