/// Which keys an event is found by. A log knows no event types: whoever indexes it brings this.
public struct KeyScheme: Sendable {
    /// Adds the hashes of one event's keys, see ``KeyHash``. The same line gives the same hashes, in any process.
    public typealias Extractor = (_ line: UnsafeRawBufferPointer, _ keys: inout [UInt64]) -> Void

    public var name: String
    /// Raised with every change of what the extractor gives, so that older indexes are made anew.
    public var version: Int
    /// Makes an extractor for one thread; it may keep a parser.
    public var makeExtractor: @Sendable () -> Extractor

    public init(name: String, version: Int, makeExtractor: @escaping @Sendable () -> Extractor) {
        self.name = name
        self.version = version
        self.makeExtractor = makeExtractor
    }

    var mark: UInt64 {
        var hash = KeyHash(kind: 0)
        hash.absorb(name)
        hash.absorb(UInt64(version))
        return hash.value
    }
}
