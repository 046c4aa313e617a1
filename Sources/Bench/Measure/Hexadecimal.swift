extension [UInt8] {
    /// Two digits a byte, in lower case.
    var hexadecimal: String {
        map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
