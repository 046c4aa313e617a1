import COpenSSL

/// Converts between bytes and libcrypto's objects (d2i_X509(3)).
enum DER {
    /// - Parameters:
    ///   - read: A d2i function, which moves the pointer to the end of the object.
    ///   - free: Frees the object.
    /// - Throws: If the bytes are not exactly one such object.
    static func object(
        of bytes: [UInt8], freedBy free: @escaping (OpaquePointer?) -> Void,
        _ read: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?
    ) throws(SigningError) -> OwnedPointer {
        let (pointer, count) = bytes.withUnsafeBufferPointer { buffer in
            var end = buffer.baseAddress
            let pointer = read(&end, buffer.count)
            return (pointer, end.flatMap { end in buffer.baseAddress.map { end - $0 } })
        }
        let object = try OwnedPointer(pointer, freedBy: free)
        guard count == bytes.count else { throw .unreadable(reason: "there are extra bytes at the end") }
        return object
    }

    /// - Parameter write: An i2d function, which returns the number of bytes, and writes them if it gets a pointer.
    static func bytes(
        _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
    ) throws(SigningError) -> [UInt8] {
        let count = Int(write(nil))
        guard count > 0 else { throw .last() }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            var end = buffer.baseAddress
            written = max(0, Int(write(&end)))
        }
    }

    static func bytes(of string: UnsafePointer<ASN1_STRING>?) -> [UInt8] {
        Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string))))
    }
}
