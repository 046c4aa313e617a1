import CloudKitModel
import Events
import JSON
import Signing
import Time

/// The text of a key file.
extension AccessKeys {
    private static let format: Int64 = 1

    var text: String {
        ByteBuffer.object {
            $0.append("format", AccessKeys.format)
            $0.append("secret", secret.hexadecimal)
            $0.append("keys", keys) { $1.write(to: &$0) }
            $0.append("signOuts", signOuts.sorted { $0.value < $1.value }) { $1.key.write(to: &$0, at: $1.value) }
        }.text + "\n"
    }

    /// - Throws: The first mistake, as a sentence.
    init(_ bytes: [UInt8]) throws(KeyFileMistake) {
        var parser = JSONParser(limits: JSONLimits(bytesMax: AccessKeyFile.bytesMax, refusesDuplicateKeys: true))
        let result: Result<AccessKeys, KeyFileMistake> = bytes.withUnsafeBytes { text in
            do {
                return .success(try AccessKeys(try parser.parse(text)))
            } catch let error as ModelError {
                return .failure(
                    KeyFileMistake(reason: error.path.isEmpty ? error.reason : "\(error.path): \(error.reason)"))
            } catch { return .failure(KeyFileMistake(reason: "\(error)")) }
        }
        self = try result.get()
    }

    private init(_ json: JSONValue) throws(ModelError) {
        guard json["format"]?.int64 == AccessKeys.format else {
            throw ModelError("", "it has no \"format\": \(AccessKeys.format)")
        }
        var (keys, signOuts) = ([AccessKey](), [SignedOutUser: Instant]())
        let keyList = try json.required("keys")
        try keyList.expectArray("keys")
        for (index, key) in keyList.elements.enumerated() {
            do { keys.append(try AccessKey(key)) } catch { throw error.under("[\(index)]").under("keys") }
        }
        if let entries = json["signOuts"] {
            try entries.expectArray("signOuts")
            for entry in entries.elements { signOuts[try SignedOutUser(entry)] = try entry.time("before") }
        }
        self.init(keys: keys, secret: try json.bytes("secret", count: 32), signOuts: signOuts)
    }
}

struct KeyFileMistake: Error {
    let reason: String
}

extension AccessKeys.SignedOutUser {
    fileprivate func write(to buffer: inout ByteBuffer, at time: Instant) {
        buffer.object {
            $0.append(.container, container)
            $0.append(.user, user)
            $0.append("before", time.rfc3339)
        }
    }

    fileprivate init(_ json: JSONValue) throws(ModelError) {
        self.init(container: try json.text(.container), user: try json.text(.user))
    }
}
