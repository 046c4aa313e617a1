import CZeroMQ
import Glibc

/// The public half of a CURVE key pair: 32 bytes, written as 40 characters of Z85.
package struct CurvePublicKey: Hashable, Sendable {
    let bytes: [UInt8]

    /// - Throws: `EINVAL` for anything but 40 characters of Z85.
    package init(z85: String) throws(ZMQError) {
        bytes = try decodeKey(z85, "read public key")
    }

    init(bytes: [UInt8]) { self.bytes = bytes }

    package var z85: String { encodeKey(bytes) }
}

extension CurvePublicKey: CustomStringConvertible {
    package var description: String { z85 }
}

/// The secret half of a CURVE key pair. It prints as `<secret>`; only ``z85`` reveals it.
package struct CurveSecretKey: Sendable {
    let bytes: [UInt8]

    /// - Throws: `EINVAL` for anything but 40 characters of Z85; the error does not repeat the text.
    package init(z85: String) throws(ZMQError) {
        bytes = try decodeKey(z85, "read secret key")
    }

    package var z85: String { encodeKey(bytes) }

    /// The public key that belongs to this secret key.
    package func publicKey() throws(ZMQError) -> CurvePublicKey {
        var text = [CChar](repeating: 0, count: keyCharacters + 1)
        guard unsafe zmq_curve_public(&text, z85) == 0 else { throw .last("derive public key") }
        return try CurvePublicKey(z85: keyString(text))
    }
}

extension CurveSecretKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A CURVE key pair: a secret key and the public key that belongs to it.
package struct CurveKeyPair: Sendable {
    package let publicKey: CurvePublicKey
    package let secretKey: CurveSecretKey

    package init(secretKey: CurveSecretKey) throws(ZMQError) {
        self.secretKey = secretKey
        publicKey = try secretKey.publicKey()
    }

    /// A new random pair. Its public key does not begin with `-`, so that a command line never takes it for an option.
    ///
    /// - Throws: `ENOTSUP` when libzmq was built without CURVE.
    package static func generate() throws(ZMQError) -> CurveKeyPair {
        while true {
            let pair = try draw()
            if !pair.publicKey.z85.hasPrefix("-") { return pair }
        }
    }

    private static func draw() throws(ZMQError) -> CurveKeyPair {
        var publicText = [CChar](repeating: 0, count: keyCharacters + 1)
        var secretText = publicText
        guard unsafe zmq_curve_keypair(&publicText, &secretText) == 0 else { throw .last("generate key pair") }
        return try CurveKeyPair(secretKey: CurveSecretKey(z85: keyString(secretText)))
    }
}

// Z85 writes each group of 4 bytes as 5 characters, so a key of 32 bytes has 40 characters (ZeroMQ RFC 32/Z85).
private let keyBytes = 32
private let keyCharacters = 40

private func decodeKey(_ text: String, _ operation: String) throws(ZMQError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: keyBytes)
    let isASCII = text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    guard isASCII, text.utf8.count == keyCharacters, unsafe zmq_z85_decode(&bytes, text) != nil else {
        let count = text.utf8.count
        throw ZMQError(
            code: EINVAL, operation: operation,
            detail: count == keyCharacters
                ? "the key is not Z85" : "the key has \(count) bytes instead of \(keyCharacters) characters of Z85")
    }
    return bytes
}

private func encodeKey(_ bytes: [UInt8]) -> String {
    var text = [CChar](repeating: 0, count: keyCharacters + 1)
    unsafe zmq_z85_encode(&text, bytes, bytes.count)
    return keyString(text)
}

private func keyString(_ text: [CChar]) -> String {
    String(decoding: text.prefix(keyCharacters).map(UInt8.init(bitPattern:)), as: UTF8.self)
}
