import Foundation
import JSON

/// How all types of this library stand in an archive: as JSON under one key.
///
/// None of them is nested in another, for Foundation on Linux archives only classes at the top; CloudKit's nested names
/// are aliases.
enum Archive {
    private static let key = "belfry"
    private static let damageKey = "belfry: what the archive holds is damaged"

    static func encode(to coder: NSCoder, _ write: (inout ByteBuffer) -> Void) {
        var buffer = ByteBuffer()
        write(&buffer)
        coder.encode(NSData(data: Data(buffer.bytes)), forKey: key)
    }

    /// Nil, and the coder is told, where the archive holds something else.
    static func decode<Value>(from coder: NSCoder, _ read: (JSONValue) -> Value?) -> Value? {
        guard let data = coder.decodeObject(of: NSData.self, forKey: key) else { return nil }
        if let value = parse(Data(referencing: data), read) { return value }
        coder.failWithError(CocoaError(.coderReadCorrupt))
        // Foundation on Linux forgets that error; what it remembers is a key that is missing.
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
