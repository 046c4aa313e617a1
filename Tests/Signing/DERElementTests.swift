import Testing

@testable import Signing

@Suite struct DERElementTests {
    @Test func `nested elements are read down to the innermost element`() throws {
        let element = try #require(DERElement([0x30, 0x09, 0x0c, 0x02, 0x61, 0x62, 0x30, 0x03, 0x0c, 0x01, 0x63]))
        #expect(element.identifier == DERElement.Identifier.sequence)
        #expect(element.elements.map(\.identifier) == [0x0c, 0x30])
        #expect(element.elements[0].content == [0x61, 0x62] && element.elements[0].elements.isEmpty)
        #expect(element.elements[1].elements.map(\.content) == [[0x63]])
    }

    @Test func `a long element, with its length in several bytes, is read`() throws {
        let element = try #require(DERElement([0x04, 0x82, 0x01, 0x00] + [UInt8](repeating: 7, count: 256)))
        #expect(element.content == [UInt8](repeating: 7, count: 256))
    }

    @Test(
        arguments: [
            [], [0x30], [0x30, 0x01], [0x04, 0x02, 0x00], [0x04, 0x00, 0x00],
            // Two elements.
            [0x04, 0x00, 0x04, 0x00],
            // An inner element that is too long, and an indefinite length.
            [0x30, 0x03, 0x04, 0x05, 0x00], [0x30, 0x80, 0x00, 0x00],
            // Lengths in more bytes than are needed.
            [0x04, 0x81, 0x01, 0x00], [0x30, 0x04, 0x04, 0x81, 0x01, 0x00],
            // A length of 2^64 - 1 bytes.
            [0x04, 0x88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        ] as [[UInt8]])
    func `bytes that are not exactly one DER element are refused`(bytes: [UInt8]) {
        #expect(DERElement(bytes) == nil)
    }

    @Test func `elements that are nested too deeply are refused`() {
        var bytes: [UInt8] = []
        for _ in 0..<60 { bytes = [0x30, UInt8(bytes.count)] + bytes }
        #expect(DERElement(bytes) == nil)
        #expect(DERElement(Array(bytes.suffix(80))) != nil)
    }
}
