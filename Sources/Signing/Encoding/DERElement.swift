import COpenSSL

/// An ASN.1 element in DER (X.690), with the elements that it contains.
package struct DERElement: Sendable {
    /// The first byte: the tag's class and form, and its number if it is below 31.
    package let identifier: UInt8
    package let content: [UInt8]
    /// Empty if the element is primitive or has no content.
    package let elements: [DERElement]

    /// The identifiers of universal types (X.680, section 8.4).
    package enum Identifier {
        package static let integer: UInt8 = 0x02
        package static let bitString: UInt8 = 0x03
        package static let octetString: UInt8 = 0x04
        package static let utf8String: UInt8 = 0x0c
        package static let sequence: UInt8 = 0x30
    }

    /// How many constructed elements may be nested in one another, the outermost included. Apple's library Swift ASN.1
    /// has the same limit, but there a primitive element also counts as a level.
    private static let nestingMax = 50

    /// - Returns: nil if the bytes are not exactly one well-formed element, or elements are nested too deeply.
    package init?(_ bytes: [UInt8]) {
        guard let elements = DERElement.elements(of: bytes[...], level: 0), elements.count == 1 else { return nil }
        self = elements[0]
    }

    private init?(_ identifier: UInt8, _ content: ArraySlice<UInt8>, level: Int) {
        let isConstructed = identifier & UInt8(V_ASN1_CONSTRUCTED) != 0
        guard let elements = isConstructed ? DERElement.elements(of: content, level: level + 1) : [] else { return nil }
        self.identifier = identifier
        self.content = Array(content)
        self.elements = elements
    }

    private static func elements(of bytes: ArraySlice<UInt8>, level: Int) -> [DERElement]? {
        guard level <= nestingMax else { return nil }
        var (rest, elements) = (bytes, [DERElement]())
        while let identifier = rest.first {
            guard let size = size(ofFirstIn: rest) else { return nil }
            let content = rest.dropFirst(size.header).prefix(size.content)
            guard let element = DERElement(identifier, content, level: level) else { return nil }
            elements.append(element)
            rest = rest.dropFirst(size.header + size.content)
        }
        return elements
    }

    /// - Returns: nil if the element is longer than the bytes, or its tag or length is not encoded as DER requires.
    private static func size(ofFirstIn bytes: ArraySlice<UInt8>) -> (header: Int, content: Int)? {
        bytes.withUnsafeBufferPointer { buffer in
            var (start, content, tag, tagClass) = (buffer.baseAddress, 0, Int32(0), Int32(0))
            let form = ASN1_get_object(&start, &content, &tag, &tagClass, buffer.count)
            // ASN1_get_object sets 0x80 for an error, and 1 for an indefinite length.
            guard form & 0x81 == 0, let start, let first = buffer.baseAddress else {
                ERR_clear_error()
                return nil
            }
            let header = start - first
            guard ASN1_object_size(form == 0 ? 0 : 1, Int32(content), tag) == header + content else { return nil }
            return (header, content)
        }
    }
}
