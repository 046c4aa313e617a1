import Signing
import Testing

struct Base64URLTests {
    @Test(arguments: 0..<70)
    func `bytes are the same after encoding and decoding`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: 251 &* $0 &+ 62) }
        let text = Base64URL.text(of: bytes)
        #expect(!text.contains { "+/=".contains($0) })
        #expect(Base64URL.bytes(of: text[...]) == bytes)
        #expect(Base64URL.bytes(of: text[...], leniently: true) == bytes)
    }

    @Test(arguments: ["-_8", "+/8", "+/8=", "-/8="])
    func `standard digits and padding are accepted only leniently`(text: String) {
        #expect(Base64URL.bytes(of: text[...], leniently: true) == [0xFB, 0xFF])
        #expect((Base64URL.bytes(of: text[...]) != nil) == (text == "-_8"))
    }

    @Test(arguments: ["A", "AAAAA", "A=A", "A A", "AA\n", "Aé", "AA.A"])
    func `invalid text is refused`(text: String) {
        #expect(Base64URL.bytes(of: text[...]) == nil)
        #expect(Base64URL.bytes(of: text[...], leniently: true) == nil)
    }
}
