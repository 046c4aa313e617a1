/// What a parser takes at most; a text beyond it is refused, never half read.
package struct JSONLimits: Sendable, Hashable {
    /// The most ``bytesMax`` may be: 128 MiB, so that offsets fit 32 bits and the number of elements fits 26.
    package static let bytesMaxHighest = 128 << 20

    /// The longest text, in bytes; ``bytesMaxHighest`` at most.
    package var bytesMax: Int
    /// How many arrays and objects may be open at once; a number or a string alone needs none.
    package var depthMax: Int
    /// Refuses an object that names a key twice, which RFC 8259 leaves to the reader.
    package var refusesDuplicateKeys: Bool

    /// Stops the program where a limit is negative or above ``bytesMaxHighest``.
    package init(bytesMax: Int = 2 << 20, depthMax: Int = 128, refusesDuplicateKeys: Bool = false) {
        self.bytesMax = bytesMax
        self.depthMax = depthMax
        self.refusesDuplicateKeys = refusesDuplicateKeys
        check()
    }

    func check() {
        precondition((0...JSONLimits.bytesMaxHighest).contains(bytesMax), "a text holds at most 128 MiB")
        precondition((0...JSONLimits.bytesMaxHighest).contains(depthMax), "no text is deeper than it is long")
    }
}
