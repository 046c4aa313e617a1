import JSON

/// Small numbers for names, so that what is compared for every change is a number.
///
/// Names come from saved subscriptions only; a change's names are looked up, never added.
struct SymbolTable {
    private var numbers = HashedNumbers()
    private var text: [UInt8] = []
    /// Where each name starts in `text`, and where the last one ends.
    private var starts = [0]

    var count: Int { starts.count - 1 }

    @inline(__always)
    func find(_ name: UnsafeRawBufferPointer) -> Int32? { find(name, ByteHash.of(name)) }

    mutating func intern(_ name: UnsafeRawBufferPointer) -> Int32 {
        let hash = ByteHash.of(name)
        if let symbol = find(name, hash) { return symbol }
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

    @inline(__always)
    private func find(_ name: UnsafeRawBufferPointer, _ hash: Int) -> Int32? {
        numbers.find(hash) { isSame($0, name) }
    }

    @inline(__always)
    private func isSame(_ symbol: Int32, _ name: UnsafeRawBufferPointer) -> Bool {
        let range = starts[Int(symbol)]..<starts[Int(symbol) + 1]
        return range.count == name.count
            && text.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[range]).isSame(as: name) }
    }
}

extension SymbolTable {
    /// The table while it does not change.
    struct View {
        fileprivate let numbers: HashedNumbers.View
        fileprivate let text: UnsafeRawBufferPointer
        fileprivate let starts: UnsafePointer<Int>

        @inline(__always)
        func find(_ name: JSONValue) -> Int32? {
            if let plain = name.plain { return find(plain) }
            return name.withUTF8 { find($0) } ?? nil
        }

        @inline(__always)
        private func find(_ name: UnsafeRawBufferPointer) -> Int32? {
            numbers.find(ByteHash.of(name)) { symbol in
                let range = starts[Int(symbol)]..<starts[Int(symbol) + 1]
                return range.count == name.count && UnsafeRawBufferPointer(rebasing: text[range]).isSame(as: name)
            }
        }
    }

    @inline(__always)
    func withView<Result>(_ body: (View) -> Result) -> Result {
        numbers.withView { numbers in
            text.withUnsafeBytes { text in
                starts.withUnsafeBufferPointer {
                    body(View(numbers: numbers, text: text, starts: $0.baseAddress.unsafelyUnwrapped))
                }
            }
        }
    }

    @inline(__always)
    func find(_ name: JSONValue) -> Int32? {
        if let plain = name.plain { return find(plain) }
        return name.withUTF8 { find($0) } ?? nil
    }

    mutating func intern(text: JSONValue) -> Int32 {
        if let plain = text.plain { return intern(plain) }
        return text.withUTF8 { intern($0) } ?? intern([])
    }
}
