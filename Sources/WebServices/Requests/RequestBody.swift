import CloudKitModel
import Events
import JSON

/// Parses the body of a request.
struct RequestBody: ~Copyable {
    private var parser = JSONParser(limits: RequestBody.limits)

    /// Belfry's own limit. CloudKit's native API accepts 2 MB in a request, and its REST reference names no limit.
    static let bytesMax = 4_000_000
    private static let limits = JSONLimits(bytesMax: bytesMax, refusesDuplicateKeys: true)

    /// Throws the errors of ``read(_:_:)`` for these bytes.
    static func check(_ bytes: [UInt8]) throws(ServiceError) {
        var body = RequestBody()
        try body.read(bytes) { (_: JSONValue) throws(ServiceError) in }
    }

    /// Calls `body` with the JSON object in the bytes. No bytes mean an empty object.
    ///
    /// - Throws: `BAD_REQUEST` if the bytes are not a JSON object, are too long or too deeply nested, or have a key
    ///   twice in one object. Also the errors of `body`.
    mutating func read<Result>(
        _ bytes: [UInt8], _ body: (JSONValue) throws(ServiceError) -> Result
    ) throws(ServiceError) -> Result {
        let bytes = bytes.isEmpty ? Array("{}".utf8) : bytes
        let result = bytes.withUnsafeBytes { bytes -> Swift.Result<Result, ServiceError> in
            do throws(JSONError) {
                let json = try parser.parse(bytes)
                guard json.isObject else { return .failure(.bad("the body is not a JSON object")) }
                do throws(ServiceError) { return .success(try body(json)) } catch { return .failure(error) }
            } catch {
                return .failure(.bad("the body cannot be read as JSON: \(error)"))
            }
        }
        return try result.get()
    }
}

extension ServiceError {
    /// The error for a request that breaks a rule of the model.
    init(_ error: ModelError) {
        self = .bad(error.path.isEmpty ? error.reason : "\(error.path): \(error.reason)")
    }

    /// Runs a check of the model.
    static func check<Result>(_ body: () throws(ModelError) -> Result) throws(ServiceError) -> Result {
        do { return try body() } catch { throw ServiceError(error) }
    }
}

/// Reads members of a request's body. Each error names the member.
extension JSONValue {
    /// The elements of the required array under `key`.
    ///
    /// - Throws: `BAD_REQUEST` if the member is missing, is not an array, or has more than `limit` elements.
    func elements(_ key: StaticString, atMost limit: Int) throws(ServiceError) -> [JSONValue] {
        let list = try ServiceError.check { () throws(ModelError) in
            let list = try required(key)
            try under(key) { () throws(ModelError) in try list.expectArray(key) }
            return list
        }
        guard list.count <= limit else {
            throw .bad(
                "\(key): the list has \(list.count) elements, but a request may have at most \(limit); send several "
                    + "requests")
        }
        return Array(list.elements)
    }

    /// The Boolean under `key`; nil if the member is missing.
    func optionalFlag(_ key: StaticString) throws(ServiceError) -> Bool? {
        guard self[key] != nil else { return nil }
        return try ServiceError.check { () throws(ModelError) in try flag(key) }
    }

    /// The string under `key`; nil if the member is missing.
    func optionalText(_ key: StaticString) throws(ServiceError) -> String? {
        guard let value = self[key] else { return nil }
        guard let text = value.string else { throw .bad("\(key): expected a string") }
        return text
    }

    /// The list of at most 1,000 strings under `key`; nil if the member is missing.
    func optionalTexts(_ key: StaticString) throws(ServiceError) -> [String]? {
        guard self[key] != nil else { return nil }
        return try elements(key, atMost: 1_000).map { element throws(ServiceError) in
            guard let text = element.string else { throw .bad("\(key): expected a list of strings") }
            return text
        }
    }

    /// The positive whole number under `key`, or `limit` if the number is greater; nil if the member is missing.
    func optionalCount(_ key: StaticString, atMost limit: Int) throws(ServiceError) -> Int? {
        guard let value = self[key] else { return nil }
        guard let count = value.int64, count >= 1 else { throw .bad("\(key): expected a whole number of at least 1") }
        return Int(min(count, Int64(limit)))
    }
}
