import Foundation
import JSON

/// Archives the types of this library, as JSON under one key.
///
/// None of these types is nested in another, because Foundation on Linux archives only top-level classes. CloudKit's
/// nested names are aliases.
enum Archive {
    private static let key = "belfry"
    private static let damageKey = "belfry: the archive's data is damaged"

    static func encode(to coder: NSCoder, _ write: (inout ByteBuffer) -> Void) {
        var buffer = ByteBuffer()
        write(&buffer)
        coder.encode(NSData(data: Data(buffer.bytes)), forKey: key)
    }

    /// Reads a value from the archive; nil if the archive has no data under the key. If `read` cannot read the data,
    /// the result is nil and the coder fails.
    static func decode<Value>(from coder: NSCoder, _ read: (JSONValue) -> Value?) -> Value? {
        guard let data = coder.decodeObject(of: NSData.self, forKey: key) else { return nil }
        if let value = parse(Data(referencing: data), read) { return value }
        coder.failWithError(CocoaError(.coderReadCorrupt))
        // Foundation on Linux drops the error of `failWithError`. But it reports a missing key, so ask for a key that
        // no archive has.
        _ = coder.decodeObject(of: NSData.self, forKey: damageKey)
        return nil
    }

    private static func parse<Value>(_ data: Data, _ read: (JSONValue) -> Value?) -> Value? {
        var parser = JSONParser()
        return data.withUnsafeBytes { bytes in
            do { return read(try parser.parse(bytes)) } catch { return nil }
        }
    }
}
