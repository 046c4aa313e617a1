import EventLog
import Inspect
import JSON
import PipelineRuntime
import Signing

/// Masks device tokens in exported events.
///
/// The digits of a mask come from a SHA-256 hash of the token, so a token has the same mask in every export. A token
/// that was drawn at random cannot be computed from its mask, but everybody who has the token can compute the mask. If
/// a token consists of hexadecimal digits, as APNs tokens do, its mask does too, so that the masked events replay in
/// the same way.
struct TokenMask {
    /// The minimum number of digits in a mask. With fewer digits, two tokens could get the same mask.
    private static let digitsMin = 32

    static func mask(_ token: String) -> String {
        let count = token.utf8.count
        guard token.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return "masked-" + digits(of: token, digitsMin) }
        // Deliver refuses an APNs token with an odd number of digits. So the mask of a token with an even number of
        // digits has an even number of digits, too.
        let length = count < digitsMin ? digitsMin + count % 2 : count
        return digits(of: token.lowercased(), length)
    }

    private static func digits(of token: String, _ count: Int) -> String {
        var (text, block) = ("", 0)
        while text.utf8.count < count {
            for byte in SHA256.digest(of: "belfry token \(block) \(token)") {
                text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
            block += 1
        }
        return String(text.prefix(count))
    }
}

// MARK: - Events

extension TokenMask {
    var forExport: ExportMask { ExportMask { try TokenMask.masked($0) } }

    private static let tokenOrEscape = [ByteSearch("token"), ByteSearch("\\u")]
    private static let limits = JSONLimits(bytesMax: EventLogLimits.eventBytesMax, depthMax: 512)

    /// The lines with all tokens masked; nil if no line can contain a token, so that the caller can use its own lines.
    static func masked(_ lines: UnsafeRawBufferPointer) throws -> [UInt8]? {
        guard mayHaveToken(lines) else { return nil }
        var buffer = ByteBuffer(capacity: lines.count + 1024)
        for line in Lines(lines) {
            if mayHaveToken(line) { try writeMasked(line, to: &buffer) } else { buffer.append(line) }
            buffer.append(byte: UInt8(ascii: "\n"))
        }
        return Array(buffer.bytes)
    }

    /// Whether lines may contain a `token` member; also true if a key may be written with escapes.
    private static func mayHaveToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
        tokenOrEscape.contains { $0.isFound(in: bytes) }
    }

    /// Writes an event with its `token` masked. In a dead letter, also masks the token in `event`, the text of the
    /// rejected event.
    private static func writeMasked(_ event: UnsafeRawBufferPointer, to buffer: inout ByteBuffer) throws {
        var parser = JSONParser(limits: limits)
        buffer.rewrite(try parser.parse(event)) { key, value, buffer in
            switch (key.string, value.string) {
            case ("token", let token?): buffer.appendJSON(mask(token))
            case ("event", let text?): buffer.appendJSON(masked(event: text))
            default: buffer.append(value.raw)
            }
            return true
        }
    }

    /// The event with its tokens masked. If the event is not JSON, the result is an empty string if the event may
    /// contain a `token` member, and otherwise the unchanged text.
    private static func masked(event text: String) -> String {
        var buffer = ByteBuffer(capacity: text.utf8.count + 64)
        return Array(text.utf8).withUnsafeBytes { event in
            do {
                try writeMasked(event, to: &buffer)
                return buffer.text
            } catch {
                return mayHaveToken(event) ? "" : text
            }
        }
    }
}
